/** Images of a call that are stored before its caller has their addresses. */
import type { Media } from "../../gen/lintel/v1/image_pb.js";
import type { Call } from "./call.js";
import type { Finish } from "./finish.js";

/** What was stored for a call and not delivered yet: if it never is, nobody can fetch it. */
export class Undelivered {
  /** The finishing whose images are remembered. */
  readonly finish: Finish;
  #images: Media[] = [];

  constructor(finish: Finish) {
    this.finish = {
      ...finish,
      image: async (call, media) => {
        const image = await finish.image(call, media);
        this.#images.push(image);
        return image;
      },
    };
  }

  /** The caller gets all that there are. */
  deliver(): void {
    this.#images = [];
  }

  /** The call is over: what was not delivered is not kept. */
  discard(call: Call): void {
    for (const image of this.#images) this.finish.discard(call, image);
    this.deliver();
  }
}
