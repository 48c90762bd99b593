"""Short stories for children: a hero, a trouble, a helper, an end; told, continued, told again."""

from __future__ import annotations

import random

from .grammar import Turn, article, capital, expand, typed

NAMES = ["Mia", "Tom", "Lily", "Ben", "Anna", "Max", "Ella", "Sam", "Nora", "Leo", "Rosa", "Finn", "Zoe", "Otto", "Ida", "Hugo", "Emma", "Paul",
         "Lucy", "Tim", "Sara", "Jack", "Pip", "Momo", "Bella", "Oscar"]
HEROES = ["cat", "dog", "fox", "rabbit", "bear", "mouse", "owl", "duck", "frog", "horse", "bird", "hedgehog", "squirrel", "pig", "sheep",
          "turtle", "penguin", "lion", "elephant", "monkey", "fish", "dragon", "robot", "goat", "cow", "whale", "bee", "snail", "deer", "wolf",
          "boy", "girl", "king", "queen", "princess", "wizard", "knight", "pirate", "star", "cloud", "boat", "train", "tree", "giant", "ghost",
          "baker", "painter", "snowman", "kitten", "puppy", "tiger", "crab", "spider", "ant", "butterfly", "donkey", "doll", "car", "moon"]
PLACES = ["in a small house by the sea", "in a dark forest", "on a green hill", "in a quiet village", "near a blue lake", "under an old bridge",
          "in a big city", "on a little farm", "beside a river", "in a tall tower", "on a small island", "at the end of a long road"]
MOODS = ["little", "small", "brave", "happy", "clever", "kind", "shy", "old", "funny", "curious", "tiny", "young"]
WEATHER = ["One sunny morning", "One day", "One cold night", "One rainy day", "One evening", "One morning in spring", "One windy day"]
LOST = ["red ball", "blue hat", "golden key", "little lamp", "green scarf", "silver bell", "old map", "warm blanket", "yellow kite", "toy boat",
        "round stone", "story book"]
FRIENDS = ["a wise owl", "an old turtle", "a kind fox", "a tiny mouse", "a friendly bear", "a small bird", "a funny frog", "a gentle deer",
           "a busy bee", "a quiet rabbit"]
LESSONS = ["From that day on, they were best friends.", "And they were happy ever after.", "{N} smiled and slept well that night.",
           "It was the best day of all.", "{N} never forgot that day.", "And then they all had cake and tea.",
           "Since then, {N} always helps others.", "That night the stars looked brighter than ever."]
PLOTS = [
    ["{W}, {N} lost a {l}.", "{N} looked [under the bed and behind the door|in the garden and under the trees], but it was not there.",
     "Then {f} came by and asked, \"Why are you so sad?\"", "\"I lost my {l},\" said {N}.",
     "They looked together, and soon they found the {l} [in the tall grass|under a big leaf|behind a stone]."],
    ["{W}, {N} wanted to see [the sea|the mountains|the other side of the forest|the moon].", "So {N} packed [some bread|an apple|a small bag] and walked away.",
     "The way was long, and {N} [got tired|was a little afraid].", "Then {f} said, \"Come, I know the way.\"",
     "Together they [walked and sang|laughed and walked on], and at last they were there."],
    ["{W}, a [loud noise|strange sound] woke {N} up.", "{N} [took a lamp|opened the door] and went outside.", "There sat {f} in the [rain|dark|snow], cold and alone.",
     "\"Come in,\" said {N}, \"there is [warm soup|a warm fire|hot tea] for two.\"", "So they sat by the fire and told each other stories."],
    ["{W}, {N} found a {l} [in the grass|on the road|near the water].", "\"Who can have lost it?\" thought {N}.", "{N} asked everyone in the village, but nobody knew.",
     "At last {f} cried, \"That is mine! Thank you!\"", "{N} was [glad|happy] to give it back."],
    ["{W}, {N} wanted to [fly like a bird|swim like a fish|sing a song|climb the tall tree].", "{N} tried once and [fell down|failed].", "Everyone laughed, but {f} said, \"Try again!\"",
     "{N} tried again and again, every day.", "And one day it worked, and everyone [clapped|cheered]."],
    ["{W}, {N} [planted|put] a small seed in the ground.", "Every day {N} gave it water and [sang to it|waited].", "But nothing came, and {N} was sad.",
     "\"Wait a little,\" said {f}.", "Then the sun came out, and a [big red flower|tall yellow flower|little blue flower] opened."],
    ["{W}, {N} heard someone cry for help.", "It was {f}, who sat [in a deep hole|on a high rock|behind a closed door].", "{N} [ran to get a rope|thought for a moment].",
     "Then {N} pulled and pulled until {F} was free.", "\"Thank you, {N},\" said {F}. \"You are very brave.\""],
    ["{W}, {N} made a big cake.", "But the cake was too big for one.", "So {N} [went from door to door|rang a bell] and asked everyone to come.",
     "{F1} came first, and then came all the others.", "They ate and danced until the moon was high."],
]


def story(rng: random.Random, hero: str, length: str = "", name: str | None = None, opening: bool = True) -> str:
    """A story about the hero: `short` has fewer sentences, `long` two plots."""
    name = name or rng.choice(NAMES)
    parts = []
    mood = rng.choice(MOODS)
    if opening:
        parts.append(rng.choice([f"Once upon a time there was {article(mood)} {hero} named {name}.",
                                 f"There once was {article(mood)} {hero} called {name}.",
                                 f"{name} was {article(mood)} {hero}."]))
        parts.append(f"{name} lived {rng.choice(PLACES)}.")
    plots = rng.sample(PLOTS, 2 if length == "long" else 1)
    for number, plot in enumerate(plots):
        friend = rng.choice(FRIENDS)
        slots = {"N": name, "W": rng.choice(WEATHER) if not number else rng.choice(["The next day", "Later", "A week later"]),
                 "l": rng.choice(LOST), "f": friend, "F1": capital(friend), "F": "the " + friend.split(" ", 1)[1]}
        lines = plot if length != "short" else [plot[0], plot[3], plot[4]]
        parts += [expand(rng, line, slots) for line in lines]
    parts.append(rng.choice(LESSONS).replace("{N}", name))
    return " ".join(parts)


ASKS = ["Tell me a story about {h}.", "Tell me a {k} story about {h}.", "Write a {k} story about {h}.", "Can you tell me a story about {h}?",
        "I want a story about {h}.", "A story about {h}, please.", "Write a story about {h}.", "Do you know a story about {h}?",
        "Make up a {k} story about {h}.", "Please tell a {k} story about {h}.", "Story about {h}", "I'd like to hear a story about {h}.",
        "Give me a {k} story about {h}.", "Could you write a story about {h}?", "Tell us a story about {h}.", "tell me about {h} in a story"]
HELD = ["Would you tell me a story about {h}?", "Please write me a story about {h}.", "Can you make up a story about {h}?",
        "I would like a story about {h}.", "Tell a little story about {h}."]
HELD_TEMPLATES = HELD
ANY = ["Tell me a story.", "Tell me a {k} story.", "Write a story.", "A story please", "Can you tell me a story?", "Do you know a story?",
       "I want a story.", "Write me a {k} story.", "Once upon a time", "Tell me a fairy tale.", "Tell me a bedtime story.", "Story!",
       "Yes, a story", "I would like a story.", "Tell a story.", "Read me a story."]
MORE = ["Another story", "Another one", "One more story, please.", "Tell me another story.", "Again!", "Another story please", "More",
        "Now another one.", "And another story?", "Can I have another one?"]


def size(rng: random.Random) -> tuple[str, str]:
    """An adjective for the question, and the length it asks for."""
    return rng.choice([("short", "short"), ("very short", "short"), ("long", "long"), ("nice", ""), ("new", ""), ("", ""), ("little", ""),
                       ("funny", ""), ("good", "")])


def hero_of(rng: random.Random) -> tuple[str, str]:
    """The hero's noun, and how a question names it (sometimes with a name or an adjective)."""
    hero = rng.choice(HEROES)
    form = article(hero)
    if rng.random() < 0.15:
        form = article(rng.choice(MOODS)) + " " + hero
    elif rng.random() < 0.08:
        form = "the " + hero
    return hero, form


def asked(rng: random.Random) -> list[Turn]:
    """A story on request, sometimes with more of them."""
    word, length = size(rng)
    if rng.random() < 0.7:
        hero, form = hero_of(rng)
        name = rng.choice(NAMES) if rng.random() < 0.12 else None
        if name:
            form += rng.choice([" named ", " called "]) + name
        ask = expand(rng, rng.choice(ASKS), {"h": form, "k": word})
    else:
        hero, name = rng.choice(HEROES), None
        ask = expand(rng, rng.choice(ANY), {"k": word})
    if word and word not in ask:
        length = ""
    turns = [(typed(rng, ask), story(rng, hero, length, name))]
    while rng.random() < 0.2:
        if rng.random() < 0.5:
            turns.append((typed(rng, rng.choice(MORE)), story(rng, rng.choice(HEROES))))
        else:
            hero, form = hero_of(rng)
            ask = rng.choice(["And one about {h}?", "Now one about {h}.", "Another one about {h}.", "What about {h}?"])
            turns.append((typed(rng, ask.replace("{h}", form)), story(rng, hero)))
    return turns


def continued(rng: random.Random) -> list[Turn]:
    """The user begins, the model goes on with the same hero."""
    hero, name = rng.choice(HEROES), rng.choice(NAMES)
    begin = rng.choice([f"Once upon a time there was {article(rng.choice(MOODS))} {hero} named {name}",
                        f"Once there was {article(hero)} called {name}", f"{name} was {article(rng.choice(MOODS))} {hero}",
                        f"There once lived {article(hero)} named {name}"])
    if rng.random() < 0.4:
        begin += f" who lived {rng.choice(PLACES)}"
    ask = rng.choice(["Continue: {b}...", "Continue the story: {b}.", "Go on: {b}...", "Finish this story: {b}.", "{b}...", "{b}.",
                      "Continue this: {b}.", "Please continue: {b}..."]).replace("{b}", begin)
    rest = story(rng, hero, rng.choice(["", "", "short"]), name, opening=False)
    return [(ask, rest)]


MAKERS = [(5.0, asked), (1.2, continued)]


def probes(rng: random.Random) -> list[tuple[str, str, str]]:
    """Held-out requests; the rule wants the hero, an ending and more than three sentences."""
    out = []
    for _ in range(40):
        hero = rng.choice(HEROES)
        ask = rng.choice(HELD).replace("{h}", article(hero))
        out.append(("story", ask, rf"(?s)^(?=.*\b{hero}\b)(?:[^.?!]*[.?!]\"?){{4,}}$"))
    return out
