"""The four maps of appendix A.3: hidden states `(questions, d)` to a plane `(questions, 2)`.

PCA, t-SNE and UMAP never see the labels. LDA does, and with more dimensions than questions it can pull *any* labels
apart, shuffled ones too; so it is fitted on some questions, and only the others are worth looking at. Features are
standardised. t-SNE and UMAP differ in detail between machines: read from them only what `neighbour_accuracy` measures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import TSNE
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_X_y


def standardise(X: np.ndarray) -> np.ndarray:
    """Mean 0 and variance 1 in every dimension; a constant dimension becomes 0."""
    return StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))


def pca_plane(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The plane of largest variance, and the share of the variance on each of its two axes."""
    pca = PCA(n_components=2, svd_solver="full")
    return pca.fit_transform(standardise(X)), pca.explained_variance_ratio_


def lda_plane(X: np.ndarray, y: Sequence, fit: np.ndarray) -> np.ndarray:
    """Discriminant scores `(questions, classes - 1)` of all questions; LDA sees only the rows `fit`.

    S_W is shrunk (Ledoit-Wolf), since hidden states have more dimensions than there are questions.
    """
    X, y = check_X_y(X, y, dtype=np.float64)
    lda = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"))
    return lda.fit(X[fit], y[fit]).transform(X)


def tsne_plane(X: np.ndarray, *, seed: int, perplexity: float = 30.0) -> np.ndarray:
    """t-SNE of the first 50 principal components, started at the first two.

    `perplexity` is capped at a third of the questions.
    """
    reduced = PCA(n_components=min(50, *np.shape(X)), svd_solver="full").fit_transform(standardise(X))
    perplexity = min(perplexity, (len(reduced) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed, n_jobs=1).fit_transform(reduced)


def umap_plane(X: np.ndarray, *, seed: int, neighbours: int = 15) -> np.ndarray:
    """UMAP with its defaults, one thread (with a seed, more threads would not be repeatable)."""
    from umap import UMAP  # its import compiles for seconds

    mapper = UMAP(n_neighbors=min(neighbours, len(X) - 1), random_state=seed, n_jobs=1)
    return mapper.fit_transform(standardise(X))


def neighbour_accuracy(plane: np.ndarray, y: Sequence, *, neighbours: int = 10) -> float:
    """Share of questions whose `neighbours` nearest others on the plane vote for their label: a picture, measured."""
    model, plane = KNeighborsClassifier(min(neighbours, len(y) - 1)), np.asarray(plane, np.float64)
    return float(cross_val_score(model, plane, y, cv=LeaveOneOut()).mean())
