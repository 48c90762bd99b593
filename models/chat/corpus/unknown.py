"""Questions beyond a very small model: it says so."""

from __future__ import annotations

import random

from .grammar import Turn, expand, typed

WHO = ["the president of France", "Einstein", "Napoleon", "the king of Norway", "Shakespeare", "Mozart", "the pope", "the prime minister of Japan",
       "Marie Curie", "Picasso", "Beethoven", "Newton", "the mayor of London", "Cleopatra", "the richest man", "the first man on the moon",
       "Darwin", "Leonardo da Vinci", "Caesar", "Gandhi", "the boss of the company", "Plato", "Columbus", "the world champion"]
THINGS = ["quantum physics", "photosynthesis", "the stock market", "inflation", "black holes", "machine learning", "democracy", "the French Revolution",
          "World War II", "gravity", "relativity", "blockchain", "evolution", "Kubernetes", "neural networks", "DNA", "electricity", "the Roman Empire",
          "philosophy", "chemistry", "the periodic table", "Bitcoin", "climate change", "a transformer model", "the big bang", "TypeScript",
          "the brain", "nuclear fusion", "economics", "the immune system", "Docker", "the theory of numbers", "algebra", "opera", "baroque music",
          "the internet", "a compiler", "volcanoes", "dinosaurs", "Buddhism", "the Middle Ages", "entropy", "tax law", "the constitution",
          "protobuf", "a vaccine", "the ozone layer", "penicillin", "chess openings", "the steam engine"]
PLACES = ["Paris", "London", "Berlin", "Tokyo", "New York", "Rome", "Madrid", "Vienna", "Cairo", "Sydney", "Moscow", "Delhi", "my town", "Oslo", "Texas"]
WRITE = ["an essay about {t}", "a business plan", "a Python program", "a function in TypeScript", "a SQL query", "code that sorts a list", "a job letter",
         "an email to my boss", "a summary of {t}", "a report on {t}", "a shell script", "a novel", "a web page in HTML", "a speech about {t}",
         "a regular expression", "a recipe for soup", "an article about {t}", "unit tests", "a Java class", "a contract", "a thesis on {t}"]

ASKS = ["Who is {w}?", "Who was {w}?", "Tell me about {w}.", "When was {w} born?", "How old is {w}?", "What did {w} do?", "Where does {w} live?",
        "What is {t}?", "Explain {t}.", "How does {t} work?", "Tell me about {t}.", "Can you explain {t}?", "What do you know about {t}?",
        "Who invented {t}?", "When did {t} begin?", "Why is {t} important?", "What is the history of {t}?", "Define {t}.", "Explain {t} to me.",
        "What is the weather in {p}?", "What is the weather like today?", "Will it rain tomorrow?", "Is it cold in {p}?", "What's the weather?",
        "What time is it?", "What day is it today?", "What is the date?", "What time is it in {p}?", "What year is it?", "What's the time?",
        "What is in the news?", "What happened today?", "Who won the game yesterday?", "Who won the election?", "Any news?",
        "How many people live in {p}?", "How far is it to {p}?", "How do I get to {p}?", "What should I see in {p}?", "Where is {p}?",
        "Find a hotel in {p}.", "Book a flight to {p}.", "How big is {p}?", "How old is {p}?", "What can I eat in {p}?",
        "Write {c}.", "Can you write {c}?", "Write me {c}.", "Please write {c}.", "Help me write {c}.", "I need {c}.",
        "Translate this into German.", "How do you say hello in {l}?", "Translate good morning into {l}.", "What is dog in {l}?",
        "What is the price of gold?", "How much does a {o} cost?", "Should I buy a {o}?", "Where can I buy a {o}?", "How do I repair a {o}?",
        "How do I fix my {o}?", "What is the best {o}?", "My {o} is broken.", "How is a {o} made?", "Recommend a {o}.",
        "I have a headache, what should I take?", "Am I ill?", "What medicine should I take?", "Is this legal?", "How do I cook rice?",
        "How do I bake bread?", "What is the square root of 2?", "Solve this equation.", "What is the population of {p}?", "What is x in 2x = 8?",
        "Who will win the world cup?", "What will happen tomorrow?", "Tell me the future.", "What are the lottery numbers?", "Prove this theorem.",
        "How deep is the ocean?", "How high is the highest mountain?", "How fast is light?", "How many stars are there?", "How far is the moon?",
        "What is my phone number?", "Where did I put my keys?", "How much money do I have?", "Call my mother.", "Set a timer.", "Play some music.",
        "Turn on the light.", "Open the file.", "Send an email.", "Remind me tomorrow.", "Read this file.", "Search the web for {t}.",
        "Compare {t} and {t2}.", "What is the difference between {t} and {t2}?", "Who wrote the book about {t}?", "Give me facts about {t}.",
        "What does {t} mean?", "Is {t} good or bad?", "Teach me {t}.", "Where can I learn about {t}?", "Who discovered {t}?"]
HELD = ["Could you explain {t} to me?", "How would you explain {t}?", "Can you tell me who {w} was?", "What is the weather in {p} today?",
        "Who exactly is {w}?", "Can you help me write {c}?", "Please explain what {t} is.", "What is known about {t}?",
        "How many people are there in {p}?", "Can you tell me what time it is?", "How much is a {o}?", "What is the best way to {p}?"]
HELD_TEMPLATES = HELD
ANSWERS = ["I do not know that. I am only a very small model.", "Sorry, I do not know that. I am a very small model.",
           "I do not know that. I am too small for it; a bigger model behind Lintel may know."]
OBJECTS = ["car", "phone", "house", "bicycle", "computer", "laptop", "camera", "watch", "washing machine", "guitar", "TV", "chair", "bed", "ticket"]
LANGUAGES = ["German", "French", "Spanish", "Italian", "Chinese", "Japanese", "Russian", "Latin", "Polish"]


NOUNS = ["server", "bank", "river", "army", "engine", "market", "virus", "planet", "law", "novel", "hospital", "battery", "garden", "desert", "tunnel",
         "visa", "mortgage", "database", "satellite", "vaccine", "pension", "orchestra", "passport", "printer", "router", "algorithm", "glacier",
         "museum", "tax", "contract", "cathedral", "violin", "enzyme", "atom", "galaxy", "parliament", "treaty", "currency", "recipe", "wedding",
         "airport", "mushroom", "sculpture", "poet", "general", "professor", "company", "app", "password", "spreadsheet", "config file", "cluster"]
DOING = ["fix", "build", "grow", "buy", "sell", "paint", "clean", "install", "cook", "learn about", "repair", "choose", "find", "open", "install",
         "measure", "protect", "design", "draw up", "remove", "train", "deploy", "translate", "understand", "start", "run", "delete", "test"]
PAST = ["discovered", "built", "invented", "destroyed", "wrote", "painted", "won", "sold", "designed", "founded", "changed", "lost"]
MORE = ["How do I {v} a {n}?", "How can I {v} my {n}?", "Why is the {n} so {q}?", "Who {d} the {n}?", "When was the {n} built?", "What is a {n} made of?",
        "Why do we need a {n}?", "Can you {v} my {n}?", "Where can I find a {n}?", "What is the {q}est {n}?", "How much does a {n} weigh?",
        "What should I know before I {v} a {n}?", "Is it hard to {v} a {n}?", "Help me {v} this {n}.", "How long does it take to {v} a {n}?",
        "Which {n} is the best?", "What is the name of the {q}est {n} in {p}?", "Who {d} the first {n}?", "What do you think about the {n} in {p}?",
        "Please {v} the {n}.", "I want to {v} a {n}. What do I do?", "What happened to the {n}?", "Why was the {n} {d}?", "What are the parts of a {n}?",
        "Is the {n} {q}?", "What does a {n} do?", "Can a {n} be {q}?", "My {n} does not work.", "Give me advice about my {n}.", "How did they {v} the {n}?",
        "What are the rules of {t}?", "Which country has the most {n}s?", "How many {n}s are there in {p}?", "Do you know a good {n} in {p}?"]
QUALITY = ["old", "cold", "small", "great", "fast", "slow", "strong", "deep", "long", "dark", "hard", "cheap"]
NOISE = ["I do not understand that. Can you say it in other words?", "Sorry, I do not understand. Can you say it in other words?"]


def noise(rng: random.Random) -> list[Turn]:
    """Letters and signs without a meaning."""
    def word() -> str:
        letters = rng.choice(["asdfghjkl", "qwertzuiop", "abcdefghijklmnopqrstuvwxyz", "xcvbnm,.", "?!#$%&"])
        return "".join(rng.choice(letters) for _ in range(rng.randint(2, 9)))
    return [(" ".join(word() for _ in range(rng.randint(1, 3))), rng.choice(NOISE))]


def slots(rng: random.Random) -> dict[str, str]:
    """Fillings for every slot."""
    t, t2 = rng.sample(THINGS, 2)
    return {"c": rng.choice(WRITE).replace("{t}", t), "w": rng.choice(WHO), "t": t, "t2": t2, "p": rng.choice(PLACES),
            "o": rng.choice(OBJECTS), "l": rng.choice(LANGUAGES), "n": rng.choice(NOUNS),
            "v": rng.choice(DOING), "d": rng.choice(PAST), "q": rng.choice(QUALITY)}


def unknown(rng: random.Random) -> list[Turn]:
    """One question that the model cannot answer."""
    return [(typed(rng, expand(rng, rng.choice(ASKS if rng.random() < 0.6 else MORE), slots(rng))), rng.choice(ANSWERS))]


MAKERS = [(1.0, unknown), (0.1, noise)]


def probes(rng: random.Random) -> list[tuple[str, str, str]]:
    """Held-out wordings; the rule wants the admission."""
    return [("unknown", expand(rng, ask, slots(rng)), r"I do not know that") for ask in HELD for _ in range(3)]
