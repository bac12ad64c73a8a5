"""What every command does: it ends in one line after Ctrl-C, and refuses early what it could not write at the end."""

from __future__ import annotations

import pytest

from suite.commands import VERBS
from suite.commands import main as trinity
from suite.console import output_folder, run_command


def test_ctrl_c_ends_a_command_in_one_line(capsys):
    def stopped() -> int:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        run_command(stopped)
    assert ended.value.code == 130 and capsys.readouterr().err == "\nStopped.\n"


@pytest.mark.parametrize("command", [["train"], ["baselines", "--run", "single"]])
def test_a_folder_that_cannot_be_written_is_refused_first(command, tmp_path, capsys):
    (tmp_path / "file").touch()
    for place, said in (
        ("", "''"),
        (" ", "' '"),
        (f"{tmp_path}/file", "file is not a folder"),
        (f"{tmp_path}/file/below", "file is not a folder"),
        ("x" * 300, "too long"),
    ):
        with pytest.raises(SystemExit) as ended:
            trinity([*command, "--out", place])
        assert ended.value.code == 2 and said in capsys.readouterr().err.lower()


def test_a_folder_need_not_be_there(tmp_path):
    assert output_folder(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert not (tmp_path / "a").exists()


def test_every_verb_is_there():
    assert set(VERBS) == {"run", "rollout", "train", "baselines", "recordings", "questions", "bank", "report", "lab"}
