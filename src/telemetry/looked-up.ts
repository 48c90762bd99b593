/** Metrics of what is looked up when somebody asks. */
import type { Attributes, Metric, Point } from "./instruments.js";

/** A single series. */
export const one = (value: number, attributes: Attributes = {}): Point[] => [{ attributes, value }];

const metric =
  (type: "gauge" | "counter") =>
  (name: string, unit: string, description: string, points: Point[]): Metric => ({
    type,
    name,
    unit,
    description,
    points,
  });

/** A value of the moment. */
export const gauge = metric("gauge");

/** A value that only grows. */
export const counter = metric("counter");
