"""Connection strings of many drivers: each as pieces, of which some are secret.

A piece is text, or a `Secret`. What is shown must hold every other piece, and no secret.
"""

from __future__ import annotations

import base64
import random
from dataclasses import dataclass
from urllib.parse import quote

PLAIN = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@dataclass(frozen=True)
class Secret:
    """Something nobody may see."""

    text: str


def _word(draw: random.Random, signs: str = "", n: int = 14) -> str:
    return "Zq" + "".join(draw.choice(PLAIN + signs) for _ in range(n)) + "7x"


def _base64(draw: random.Random) -> str:
    return base64.b64encode(draw.randbytes(48)).decode()


def templates(draw: random.Random):
    """One connection string of each form, with new secrets."""
    plain, odd = _word(draw), _word(draw, "!$^*()-_=+[]|,.<>~")
    escaped = quote(_word(draw, "@:/?#[]%& "), safe="")
    raw = _word(draw, "@:/?#!")
    key, braces = _base64(draw), _word(draw, ";= '\"&@").replace("}", "")
    quoted = _word(draw, ";= &@!")
    for scheme in (
        *("postgresql", "postgres", "postgresql+psycopg", "mysql", "mysql+pymysql", "mariadb"),
        *("mssql+pyodbc", "oracle+oracledb", "redshift+psycopg2", "mongodb", "mongodb+srv"),
        *("redis", "rediss", "amqp", "clickhouse", "cockroachdb", "snowflake", "trino", "presto"),
        *("hive", "impala", "teradatasql", "db2+ibm_db", "sap+hana", "vertica+vertica_python"),
        *("neo4j+s", "bolt", "cassandra", "couchbase", "influxdb", "duckdb", "ftp", "sftp"),
    ):
        for password in (plain, odd, escaped):
            yield [f"{scheme}://ann:", Secret(password), "@db.example.org:5432/loans"]
        yield [f"{scheme}://ann:", Secret(raw), "@db.example.org/loans"]
        yield [f"{scheme}://ann:", Secret(plain), "@h/d?role=reader&mode=ro"]
    yield ["postgresql://ann:", Secret(plain), "@h/d?application_name=ann@work.example"]
    yield ["postgresql://h/d?user=ann&password=", Secret(plain), "&sslmode=require"]
    yield ["postgresql://ann@h/d?sslkey=client.key&sslpassword=", Secret(plain)]
    yield ["redis://:", Secret(plain), "@cache.example.org:6379/0"]
    yield ["https://", Secret("ghp_" + _word(draw, n=32)), "@example.org/loans.csv"]
    yield ["databricks://token:", Secret("dapi" + "0af3" * 8), "@h.example.org?http_path=/sql/1"]
    yield ["duckdb:///md:loans?motherduck_token=", Secret(plain)]
    yield ["snowflake://h/db?user=ann&private_key=", Secret(plain), "&role=r&warehouse=w"]
    yield ["snowflake://h/db?user=ann&private_key_file=/keys/rsa.p8&passcode=", Secret(plain)]
    yield ["bigquery://project/set?credentials_base64=", Secret(key), "&location=EU"]
    yield ["bigquery://project/set?credentials_path=/keys/sa.json"]
    yield ["trino://ann@h:443/hive?access_token=", Secret(plain), "&SSL=true"]
    yield ["elasticsearch://h:9200/loans?api_key=", Secret(plain)]
    for name in ("password", "PASSWORD", "Password", "pwd", "PWD", "Pwd", "passwd"):
        yield [f"Driver={{ODBC Driver 18}};Server=h;Uid=ann;{name}=", Secret(plain), ";Encrypt=yes"]
        yield [f"Server=h;Database=d;User Id=ann;{name}=", Secret(odd), ";Timeout=30"]
        yield [f"Server=h;Database=d;{name}={{", Secret(braces), "};Encrypt=yes"]
        yield [f"Server=h;{name}='", Secret(quoted), "';Encrypt=yes"]
        yield [f'Server=h;{name}="', Secret(quoted), '";Encrypt=yes']
        yield [f"host=h dbname=d user=ann {name}=", Secret(plain), " sslmode=require"]
        yield [f"host=h dbname=d {name}='", Secret(quoted), "' port=5432"]
        yield [f"host=h {name} = '", Secret(plain + " with spaces"), "' port = 5432"]
        yield [f"jdbc:sqlserver://h:1433;databaseName=d;user=ann;{name}=", Secret(plain), ";a=b"]
        yield [f"jdbc:postgresql://h/d?user=ann&{name}=", Secret(plain), "&ssl=true"]
        yield [
            f"mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3B{name}%3D",
            Secret(plain),
            "%3BUID%3Dann",
        ]
    yield ["Server=h;Uid=ann;Pwd=", Secret("Zq with spaces & signs' 7x"), ";Encrypt=yes"]
    yield ["jdbc:oracle:thin:scott/", Secret(plain), "@//h:1521/svc"]
    yield ["jdbc:oracle:thin:scott/", Secret(plain), "@h:1521:orcl"]
    yield ["sqlplus scott/", Secret(plain), "@h:1521/svc"]
    azure = "DefaultEndpointsProtocol=https;AccountName=loans;AccountKey="
    yield [azure, Secret(key), ";EndpointSuffix=core.windows.net"]
    yield ["Endpoint=sb://h/;SharedAccessKeyName=root;SharedAccessKey=", Secret(key), ";a=b"]
    yield ["BlobEndpoint=https://h/;SharedAccessSignature=", Secret(f"sv=2024&sig={plain}"), ";a=b"]
    sas = "https://h.blob.core.windows.net/c/loans.csv?sv=2024-01-01&se=2026-01-01&sig="
    yield [sas, Secret(quote(key, safe="")), "&sp=r"]
    yield ["s3://bucket/loans.csv?X-Amz-Expires=60&X-Amz-Signature=", Secret("0af3" * 16)]
    yield ["s3://bucket/x.csv?X-Amz-Security-Token=", Secret(quote(key, safe="")), "&a=b"]
    yield ["s3://bucket/x.csv?s3_access_key_id=", Secret(plain), "&s3_region=eu"]
    yield ["s3://bucket/x.csv?s3_secret_access_key=", Secret(plain), "&s3_region=eu"]
    yield ["https://h/loans.csv?token=", Secret(plain), "&year=2024"]
    yield ["https://h/loans.csv?year=2024&key=", Secret("AIza" + "x7Q-_" * 7), "&alt=csv"]
    yield ["https://h/f?code=", Secret(key.replace("=", "")), "&year=2024"]
    yield ["secret_key=", Secret(plain), " region=eu"]
    yield ["client_id=app;client_secret=", Secret(plain), ";tenant=t"]
    yield ["AWS_SECRET_ACCESS_KEY=", Secret(key), " AWS_REGION=eu"]
    yield ["export PGPASSWORD=", Secret(plain), " PGUSER=ann"]
    yield ["DB_PASSWORD=", Secret(plain)]
    yield ["DATABASE_URL=postgres://ann:", Secret(plain), "@h/d"]
    yield ["REFRESH_TOKEN: ", Secret(plain)]
    yield ['{"user": "ann", "password": "', Secret(quoted), '", "host": "h"}']
    yield ["{'user': 'ann', 'token': '", Secret(plain), "'}"]
    yield ["Authorization: Bearer ", Secret(plain)]
    yield ["Authorization: Basic ", Secret(key)]
    yield ["db.example.org:5432:loans:ann:", Secret(plain)]
    yield ["*:*:*:ann:", Secret(plain)]
    yield ["mysql -h h -u ann -p", Secret(plain), " loans"]
    yield ["mysql --user=ann --password=", Secret(plain), " loans"]
    yield ["tool --access-token ", Secret(plain), " --year 2024"]
    block = "-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----"
    yield [block[0], Secret(key), block[1]]
    yield [
        "see eu.example.org, ",
        Secret(f"eyJ{key[:20]}.eyJ{key[20:40]}.x7".translate(str.maketrans("+/", "--"))),
    ]


def corpus(seed: int = 15) -> list[list[str | Secret]]:
    """All of them."""
    return list(templates(random.Random(seed)))
