"""How well hidden states tell labels apart (appendix A.3, input side), and how sure such a number is.

X is `(questions, d)`, y the label of each question; S_B and S_W are the between-class and within-class scatter, both
divided by the number of questions, so that S_T = S_B + S_W is the covariance of X. Measures: the separability index
tr(S_B) / tr(S_T), the share of all variance that lies between classes (Figure 14); the Fisher ratio tr(S_W^-1 S_B) that
linear discriminant analysis maximises; the accuracy of a support vector machine on questions it was not fitted on
(Figures 12 and 13). Departures: the paper states neither the SVM's settings nor its splits, so scikit-learn's defaults
(C = 1, gamma = "scale") and repeated stratified 5-fold cross-validation stand here, standardisation within every fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import t
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_X_y

Splits = list[tuple[np.ndarray, np.ndarray]]


# --- scatter ---
def scatter(X: np.ndarray, y: Sequence) -> tuple[np.ndarray, np.ndarray]:
    """(S_B, S_W), both `(d, d)` and divided by the number of questions."""
    X, y = check_X_y(X, y, dtype=np.float64)
    means = pd.DataFrame(X).groupby(y).transform("mean").to_numpy()  # of each question's class
    shifts, centred = means - X.mean(axis=0), X - means
    return shifts.T @ shifts / len(X), centred.T @ centred / len(X)


def separability_index(X: np.ndarray, y: Sequence) -> float:
    """tr(S_B) / tr(S_T): the share of the variance between classes, 0 (equal means) to 1 (each class a point)."""
    X, y = check_X_y(X, y, dtype=np.float64)
    return float(pd.DataFrame(X).groupby(y).transform("mean").var(ddof=0).sum() / X.var(axis=0).sum())


def fisher_ratio(X: np.ndarray, y: Sequence) -> float:
    """tr(S_W^-1 S_B): between-class over within-class variance, summed over LDA's directions.

    Needs more questions than dimensions plus classes, else S_W cannot be inverted (ValueError): project first.
    """
    between, within = scatter(X, y)
    if np.linalg.matrix_rank(within) < len(within):
        raise ValueError(f"{len(X)} questions in {len(within)} dimensions; project to fewer first, as by lda_plane")
    return float(np.trace(np.linalg.solve(within, between)))


def effective_dimensions(X: np.ndarray, y: Sequence) -> float:
    """tr(S_W)^2 / tr(S_W^2): how many equally strong directions the within-class variance is worth, 1 to d."""
    _, within = scatter(X, y)
    return float(np.trace(within) ** 2 / (within**2).sum())


# --- splits ---
def stratified_splits(y: Sequence, *, folds: int = 5, repeats: int = 10, seed: int) -> Splits:
    """`folds * repeats` (train, test) index pairs; every fold holds each class in proportion."""
    return list(RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed).split(y, y))


def group_splits(y: Sequence, groups: Sequence, *, folds: int = 5, repeats: int = 10, seed: int) -> Splits:
    """Like `stratified_splits`, but no group (a phrasing, a template) has questions on both sides of a split.

    Each repeat shuffles the groups and deals them to the folds in turn, class by class where each group has one class.
    (scikit-learn's StratifiedGroupKFold gives nearly the same folds for every seed: it shuffles only among equals.)
    """
    y, groups = np.asarray(y), np.asarray(groups)
    names, number = np.unique(groups, return_inverse=True)
    classes = [tuple(np.unique(y[number == i])) for i in range(len(names))]
    rng = np.random.default_rng(seed)
    splits = []
    for _ in range(repeats):
        line = sorted(rng.permutation(len(names)), key=lambda i: classes[i])
        fold = np.empty(len(names), dtype=int)
        fold[line] = np.arange(len(names)) % folds
        splits += [(np.flatnonzero(fold[number] != k), np.flatnonzero(fold[number] == k)) for k in range(folds)]
    return splits


def enough(y: Sequence, least: int) -> np.ndarray:
    """Mask of the questions whose label at least `least` questions share: rarer ones cannot be split into folds."""
    _, number, counts = np.unique(y, return_inverse=True, return_counts=True)
    return counts[number] >= least


def folds_for(y: Sequence, most: int) -> int:
    """As many folds as the rarest label has questions, at most `most`."""
    return min(most, int(np.unique(y, return_counts=True)[1].min()))


# --- models ---
def svm(kernel: str = "linear") -> BaseEstimator:
    """The paper's classifier: standardise, then an SVM (`linear` or `rbf`) with scikit-learn's defaults."""
    # Fits here take some hundred steps. Questions with almost the same features and different labels (one token read of
    # each) could keep the solver creeping for hours: at the limit scikit-learn warns and takes what it has.
    return make_pipeline(StandardScaler(), SVC(kernel=kernel, max_iter=20_000))


def bag_of(pieces: str) -> BaseEstimator:
    """A control without hidden states: a linear SVM on the TF-IDF of words (and punctuation) or characters (1 to 3).

    `pieces`: `words` or `characters`.
    """
    counters = {
        "words": TfidfVectorizer(token_pattern=r"\w+|[^\w\s]"),
        "characters": TfidfVectorizer(analyzer="char", ngram_range=(1, 3)),
    }
    return make_pipeline(counters[pieces], LinearSVC(random_state=0))  # sparse solver: far faster than SVC here


def length_features(texts: Sequence[str]) -> np.ndarray:
    """`(questions, 2)`: characters and words of each text, on a log scale."""
    return np.log1p([[len(text), len(text.split())] for text in texts])


# --- accuracy ---
@dataclass(frozen=True)
class Accuracy:
    """Accuracy over repeated splits. `mean` and `std` (over splits) are what the paper prints; `low`, `high` are ours.

    The splits share questions, so std / sqrt(splits) would be far too small. The variance is Nadeau and Bengio's
    (2003), (1/J + n_test/n_train) std^2 over J splits: it allows for another training set fitting another model. A
    symmetric interval around an accuracy near 1 would then reach past 1, so the 95 % interval is Wilson's, for as many
    independent questions as have that variance, at most the questions tested. It has width when every split is
    perfect, and leaves out 1 when there were errors.
    """

    scores: np.ndarray  # (splits,) share right
    questions: int  # distinct questions tested
    test_per_train: float  # n_test / n_train, mean over splits
    chance: float  # share of the commonest label
    mean = property(lambda self: float(self.scores.mean()))
    std = property(lambda self: float(self.scores.std(ddof=1)))
    low = property(lambda self: self.interval[0])
    high = property(lambda self: self.interval[1])

    @property
    def interval(self) -> tuple[float, float]:
        variance = resampled_variance(self.scores, self.test_per_train)
        independent = self.mean * (1 - self.mean) / variance if variance > 0 else self.questions
        return wilson(self.mean, min(self.questions, independent), t_quantile(len(self.scores)))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f} [{self.low:.3f}, {self.high:.3f}]"


def wilson(share: float, count: float, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval of a binomial share of `count` draws; `z` standard errors wide, 95 % by default."""
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def resampled_variance(scores: np.ndarray, test_per_train: float) -> float:
    """Variance of the mean of scores over overlapping splits, corrected (Nadeau and Bengio 2003)."""
    return float(scores.var(ddof=1) * (1 / len(scores) + test_per_train))


def t_quantile(splits: int) -> float:
    """Half the width of a 95 % interval in standard errors, when the variance comes from `splits` scores."""
    return float(t.ppf(0.975, splits - 1))


def evaluate(model: BaseEstimator, inputs: Sequence | np.ndarray, y: Sequence, splits: Splits) -> Accuracy:
    """Fits a fresh copy of `model` on each split's training questions; accuracy on its test questions.

    `inputs`: features `(questions, d)` for `svm`, or the texts for `bag_of`.
    """
    if isinstance(inputs, np.ndarray) and inputs.dtype.kind == "f":
        inputs = inputs.astype(np.float64)
    return Accuracy(
        scores=cross_val_score(model, inputs, y, cv=splits, error_score="raise"),
        questions=len(np.unique(np.concatenate([test for _, test in splits]))),
        test_per_train=float(np.mean([len(test) / len(train) for train, test in splits])),
        chance=float(np.unique(y, return_counts=True)[1].max() / len(y)),
    )


def evaluate_all(sources: Mapping[str, tuple], y: Sequence, splits: Splits) -> dict[str, Accuracy]:
    """`evaluate` for several representations: name -> (model, list of inputs); several inputs (say, several seeds of
    random weights) are averaged split by split."""
    found = {name: [evaluate(model, x, y, splits) for x in inputs] for name, (model, inputs) in sources.items()}
    return {
        name: replace(runs[0], scores=np.mean([run.scores for run in runs], axis=0)) for name, runs in found.items()
    }


def accuracy_by_layer(model: BaseEstimator, grid: np.ndarray, y: Sequence, splits: Splits) -> np.ndarray:
    """Mean accuracy `(layers, positions)` of `model` on each part of `grid (questions, layers, positions, d)`."""
    _, layers, positions, _ = grid.shape
    means = [evaluate(model, grid[:, i, j], y, splits).mean for i in range(layers) for j in range(positions)]
    return np.array(means).reshape(layers, positions)


def shuffled(
    model: BaseEstimator, X: np.ndarray, y: Sequence, *, folds: int = 5, permutations: int = 10, seed: int
) -> Accuracy:
    """The negative control: the same accuracy after the labels are permuted, `folds` splits for each permutation."""
    rng = np.random.default_rng(seed)
    runs: list[Accuracy] = []
    for _ in range(permutations):
        permuted = rng.permutation(np.asarray(y))
        splits = stratified_splits(permuted, folds=folds, repeats=1, seed=int(rng.integers(2**31)))
        runs.append(evaluate(model, X, permuted, splits))
    return replace(runs[0], scores=np.concatenate([run.scores for run in runs]))


def learning_curve(
    model: BaseEstimator, inputs: Sequence | np.ndarray, y: Sequence, sizes: Sequence[int], *, seed: int, repeats=10
) -> pd.DataFrame:
    """Accuracy against the number of training questions: a frame with `questions`, `mean`, `std` (over training draws).

    Each draw is stratified; a quarter of the questions is the test set, drawn anew each time.
    """
    rows = []
    for size in map(int, sizes):
        splitter = StratifiedShuffleSplit(repeats, train_size=size, test_size=len(y) // 4, random_state=seed)
        found = evaluate(model, inputs, y, list(splitter.split(y, y)))
        rows.append({"questions": size, "mean": found.mean, "std": found.std})
    return pd.DataFrame(rows)


def difference(a: Accuracy, b: Accuracy) -> tuple[float, float, float]:
    """(a - b, low, high) of two accuracies over the *same* splits, paired split by split, 95 %.

    Corrected resampled t of the differences. Where no split differs it falls back to Newcombe's interval from the two
    single ones, since a width of 0 would claim too much.
    """
    gap = a.mean - b.mean
    variance = resampled_variance(a.scores - b.scores, a.test_per_train)
    if (half := t_quantile(len(a.scores)) * math.sqrt(variance)) > 0:
        return gap, gap - half, gap + half
    low = gap - math.hypot(a.mean - a.low, b.high - b.mean)
    return gap, low, gap + math.hypot(a.high - a.mean, b.mean - b.low)


def in_words(found: Mapping[str, Accuracy], a: str, b: str) -> str:
    """How representation `a` compares with `b`, with the difference and its interval."""
    gap, low, high = difference(found[a], found[b])
    word = "above" if low > 0 else "below" if high < 0 else "not told apart from"
    return f"{a} is {word} {b} ({gap:+.2f}, 95 % interval {low:+.2f} to {high:+.2f})"
