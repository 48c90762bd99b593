/** A model that says a text, draws two pictures, and says another; and what doors are to make of that. */
import { drawnImage } from "../../src/core/drawn.js";
import { draws, png } from "../support/scripted.js";

export const data = png(7).toString("base64");
export const url = `data:image/png;base64,${data}`;
export const at = "https://images.example/a.jpg";
export const signature = { google: { thought_signature: "c2ln" } };
export const drawn = [drawnImage(url, JSON.stringify(signature)), drawnImage(at)];
export const drawing = draws("Here ", drawn, "they are.");
export const images = [
  { index: 0, type: "image_url", image_url: { url }, extra_content: signature },
  { index: 1, type: "image_url", image_url: { url: at } },
];
export const asks = {
  modalities: ["text", "image"],
  image_config: { aspect_ratio: "16:9", image_size: "2K" },
};
export const asked = {
  modalities: ["text", "image"],
  imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
};
