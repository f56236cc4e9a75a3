import pytest

from checkers.history.tables import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_what_spark_reads_of_a_table_is_there_in_arrow() -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    from spark_reports.ingest import SCHEMAS

    for name, schema in SCHEMAS.items():
        known = {field.name: _plain(field.type) for field in TABLES[name]}
        read = {field.name: field.type for field in to_arrow_schema(schema)}
        assert read == {name: known[name] for name in read}


def _plain(kind: object) -> object:
    """Lists are compared by what they hold: the names of their elements differ."""
    import pyarrow as pa

    if isinstance(kind, pa.ListType):
        return pa.list_(pa.field("element", kind.value_type))
    return kind
