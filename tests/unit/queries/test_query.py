import numpy as np
import pytest

from equipoise.data.distributions import Histogram
from equipoise.errors import QueryError
from equipoise.queries.query import Query


def mask(text):
    return np.array([character == "1" for character in text])


def test_columns_are_sorted_with_their_masks():
    query = Query((2, 0), (mask("10"), mask("011")))
    assert query.columns == (0, 2)
    assert [m.tolist() for m in query.masks] == [[False, True, True], [True, False]]


def test_equality_and_hash_are_by_content():
    one, same, other = Query((0,), (mask("01"),)), Query((0,), (mask("01"),)), Query((0,), (mask("10"),))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != Query((1,), (mask("01"),))
    assert one != "not a query"


def test_masks_cannot_be_changed_from_outside():
    given = mask("01")
    query = Query((0,), (given,))
    given[:] = True
    assert query.masks[0].tolist() == [False, True]
    with pytest.raises(ValueError, match="read-only"):
        query.masks[0][0] = True


def test_cell_is_there_exactly_when_every_mask_has_one_value():
    assert Query((0, 1), (mask("010"), mask("01"))).cell == (1, 1)
    assert Query((0, 1), (mask("011"), mask("01"))).cell is None
    assert Query((0,), (mask("00"),)).cell is None


def test_answer_is_the_probability_of_the_rows_it_selects():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    query = Query((0, 2), (mask("01"), mask("0110")))
    records = np.array(list(np.ndindex(2, 3, 4))).T
    assert query.answer(Histogram(probabilities)) == pytest.approx(
        probabilities.reshape(-1)[query.selects(records)].sum()
    )


@pytest.mark.parametrize(
    ("columns", "masks"),
    [((), ()), ((1, 1), (mask("1"), mask("1"))), ((0, 1), (mask("1"),)), ((0,), (mask(""),))],
)
def test_malformed_queries_are_refused(columns, masks):
    with pytest.raises(QueryError):
        Query(columns, masks)
