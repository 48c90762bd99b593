"""Write examples/, the pictures of the card.  python make_examples.py

Made as by default (1024x576, 50 steps, guidance 7.5, seed 1), then halved and kept in 64 colours.
"""
from pathlib import Path

from PIL import Image

from reference import Pipeline

OUT = Path(__file__).parent / "examples"
PROMPTS = {
    "heart": "a large red heart on a pink background",
    "star": "a yellow star on a gradient from black to blue",
    "three": "a red circle, a green triangle and a blue star on a white background",
    "two": "a white square to the left of a blue heart on a yellow background",
}


def main():
    OUT.mkdir(exist_ok=True)
    pipe = Pipeline()
    for name, prompt in PROMPTS.items():
        small = Image.fromarray(pipe(prompt, seed=1)[0]).resize((512, 288), Image.Resampling.LANCZOS)
        small.quantize(64, dither=Image.Dither.NONE).save(OUT / f"{name}.png", optimize=True)
        print(name, (OUT / f"{name}.png").stat().st_size)


if __name__ == "__main__":
    main()
