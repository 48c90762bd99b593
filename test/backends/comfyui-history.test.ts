/** What is taken from the outputs that ComfyUI's history tells of. */
import { expect, it } from "vitest";
import { imageIn } from "../../src/backends/comfyui/history.js";

const file = (filename: string, type: string) => ({ filename, subfolder: "", type });
const [saved, shown] = [file("a.png", "output"), file("b.png", "temp")];

it.each([
  ["beside words of other nodes", { 1: { text: ["a cat"] }, 9: { images: [saved] } }, saved],
  ["beside what is no output", { 1: null, 2: "x", 9: { images: [null, saved] } }, saved],
  ["that was saved rather than shown", { 1: { images: [shown] }, 9: { images: [saved] } }, saved],
  ["that was shown where none was saved", { 1: { images: [shown] } }, shown],
  ["of an older server, which tells no type", { 9: { images: [{ filename: "a.png" }] } }, saved],
  ["without a name", { 9: { images: [file("", "output")] } }, undefined],
  ["where none is", { 1: { text: ["a cat"] }, 2: { images: [] } }, undefined],
])("an image %s", (_, outputs, found) => {
  expect(imageIn(outputs, undefined)).toEqual(found);
});

it("an image of the node that is meant, whatever others saved", () => {
  const outputs = { 1: { images: [saved] }, 9: { images: [shown] } };
  expect(imageIn(outputs, "9")).toEqual(shown);
  expect(imageIn(outputs, "2")).toBeUndefined();
});
