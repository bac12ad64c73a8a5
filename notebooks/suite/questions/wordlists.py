"""Names and words that the reasoning templates draw from."""

from __future__ import annotations

NAMES = (
    "Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon", "Kim", "Leo", "Mia", "Noor",
    "Otto", "Pia", "Rosa", "Sam", "Tara", "Vik",
)  # fmt: skip
WOMEN = ("Anna", "Clara", "Elena", "Grace", "Irene", "Julia", "Laura", "Nadia", "Sofia", "Wanda")
MEN = ("Boris", "David", "Felix", "Henry", "Ivan", "Karl", "Luke", "Martin", "Oscar", "Paul")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
COMPASS = ("north", "east", "south", "west")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
WORDS = (
    "anchor", "basket", "bridge", "candle", "carpet", "castle", "cloud", "copper", "desert", "dragon", "engine",
    "falcon", "forest", "garden", "guitar", "hammer", "harbor", "island", "jacket", "kettle", "ladder",
    "lantern", "marble", "meadow", "mirror", "needle", "orange", "pencil", "planet", "pocket", "rabbit",
    "ribbon", "rocket", "saddle", "silver", "spider", "summer", "ticket", "tunnel", "velvet", "violin",
    "window", "winter", "yellow",
)  # fmt: skip
CREATURES = (
    "blims", "dorrs", "fendles", "gurps", "hoxes", "jallies", "kips", "lumes", "morks", "nidges", "plods",
    "quets", "rundles", "snoods", "tibs", "vasks", "wugs", "zarps",
)  # fmt: skip
