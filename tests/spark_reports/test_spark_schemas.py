import pytest

from checkers.history.tables import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_spark_and_arrow_agree_on_every_table() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    from spark_reports.sealed_archive import USED_TABLES
    from spark_reports.spark_schemas import SCHEMAS

    assert tuple(SCHEMAS) == USED_TABLES
    for name, schema in SCHEMAS.items():
        arrow = to_arrow_schema(schema)
        assert [(field.name, field.type) for field in arrow] == [
            (field.name, _plain(field.type)) for field in TABLES[name]
        ]


def _plain(kind: object) -> object:
    """Lists are compared by what they hold: the names of their elements differ."""
    import pyarrow as pa

    if isinstance(kind, pa.ListType):
        return pa.list_(pa.field("element", kind.value_type))
    return kind
