"""LiveCodeBench's tests: public ones as JSON, private ones as JSON or packed, functional or through standard input.

Packed means: JSON text, pickled, compressed with zlib, written in base64. Loading a pickle runs what its author put in
it, so none is loaded here: `pickletools` lists the instructions, and only those that write down one text are let pass.
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import zlib
from typing import Any

from trinity_core.types import DataError

LARGEST = 1 << 29  # bytes of one question's unpacked tests; more is taken for a decompression bomb
_TEXT = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"}
_NO_EFFECT = {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"}


def read_tests(row: dict[str, Any]) -> dict[str, Any]:
    """The row's public and private tests as `run_code` takes them: `tests` and `entry_point`, or `stdin_cases`.

    DataError for tests that cannot be read, that are missing, or of both kinds.
    """
    cases = _cases(row.get("public_test_cases"), "public_test_cases")
    private = row.get("private_test_cases")
    cases += _cases(unpack(private) if _is_packed(private) else private, "private_test_cases")
    if not cases:
        raise DataError("there are no tests, public or private")
    kinds = {case.get("testtype") for case in cases}
    if kinds == {"stdin"}:
        return {"stdin_cases": [{"input": case["input"], "output": case["output"]} for case in cases]}
    if kinds != {"functional"}:
        raise DataError(f"testtype is {', '.join(sorted(map(str, kinds)))}; 'stdin' or 'functional' for all is needed")
    metadata = row.get("metadata")
    try:
        metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
        function = metadata["func_name"]
    except (ValueError, TypeError, KeyError):
        function = None
    if not isinstance(function, str) or not function.isidentifier():
        raise DataError(f"metadata is {str(metadata)[:80]!r}; functional tests need its func_name")
    return {"entry_point": function, "tests": [_functional(case, i) for i, case in enumerate(cases, 1)]}


def _functional(case: dict[str, Any], number: int) -> dict[str, Any]:
    """A test's arguments, JSON values one a line, and its expected value."""
    try:
        lines = [line for line in case["input"].split("\n") if line.strip()]
        return {"args": [json.loads(line) for line in lines], "expected": json.loads(case["output"])}
    except ValueError as error:
        raise DataError(f"test {number}: input or output is not JSON ({error})") from None


def _cases(value: Any, name: str) -> list[dict[str, Any]]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name} is not JSON ({error})") from None
    if not isinstance(value, list):
        raise DataError(f"{name} is {str(value)[:60]!r}; a list of tests is needed")
    for case in value:
        if not isinstance(case, dict) or not all(isinstance(case.get(key), str) for key in ("input", "output")):
            raise DataError(f"{name} holds {str(case)[:60]!r}; a test has the texts input and output")
    return value


def _is_packed(value: Any) -> bool:
    return isinstance(value, str) and not value.lstrip().startswith("[")


def unpack(packed: str) -> str:
    """The JSON text in packed private tests; DataError for anything but one pickled text."""
    try:
        pickled = _inflate(base64.b64decode(packed, validate=True))
    except (binascii.Error, ValueError, zlib.error) as error:
        raise DataError(f"private_test_cases is neither JSON nor base64 of zlib ({error})") from None
    text = None
    try:
        for instruction, argument, _ in pickletools.genops(pickled):
            if instruction.name in _TEXT and text is None:
                text = argument
            elif instruction.name not in _NO_EFFECT:
                raise DataError(f"private_test_cases: the pickle holds more than a text ({instruction.name})")
    except DataError:
        raise
    except Exception as error:  # a broken pickle: pickletools raises much, from ValueError to struct.error
        raise DataError(f"private_test_cases: the pickle cannot be read ({error})") from None
    if text is None:
        raise DataError("private_test_cases: the pickle holds no text")
    return text


def _inflate(data: bytes) -> bytes:
    engine = zlib.decompressobj()
    plain = engine.decompress(data, LARGEST)
    if engine.unconsumed_tail:
        raise ValueError(f"more than {LARGEST} bytes when unpacked")
    if not engine.eof:
        raise ValueError("cut short")
    return plain
