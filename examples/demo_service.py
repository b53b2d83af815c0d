"""What `make demo-service` runs: the query service with the made-up table of this folder, two analysts, a few answers.

python examples/demo_service.py demo-out            goes on until Ctrl-C
python examples/demo_service.py demo-out --stop     stops when the answers are there
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import equipoise as eq

HERE = Path(__file__).resolve().parent
PORT = 8642


def main() -> None:
    """Start it, fill it, print the addresses and tokens, and wait."""
    words = [word for word in sys.argv[1:] if word != "--stop"]
    folder = Path(words[0] if words else "demo-out") / "service"
    shutil.rmtree(folder, ignore_errors=True)  # with real data, never: the ledger in it is what protects people
    root = folder / "tables"
    root.mkdir(parents=True)
    shutil.copy(HERE / "people.csv", root)
    # The service keeps the ledger in its own database here, so that the demos do not share a budget.
    schema = (HERE / "people.toml").read_text().replace('ledger = "people.ledger.sqlite"', "")
    (root / "people.toml").write_text(schema)
    port = 0 if "--stop" in sys.argv else chosen_port(PORT)
    command = ["serve", "--root", str(root), "--state", str(folder / "state"), "--port", str(port), "--json"]
    print(f"$ equipoise {' '.join(command)}", flush=True)
    with subprocess.Popen(
        [sys.executable, "-m", "equipoise.cli", *command], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            told = read(server)
            fill(told["address"], told["steward_token"])
            if "--stop" not in sys.argv:
                print("\nIt goes on until you press Ctrl-C.", flush=True)
                server.wait()
        except KeyboardInterrupt:
            pass
        finally:
            server.terminate()


def chosen_port(wanted: int) -> int:
    """The wanted port, or 0, for any, when something else listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return 0
    return wanted


def read(server: subprocess.Popen[str]) -> dict[str, str]:
    """What the server says when it listens."""
    lines: list[str] = []
    for line in server.stdout or ():
        lines.append(line)
        if line.startswith("}") and '"address"' in "".join(lines):
            return dict(json.loads("".join(lines)))
    sys.exit("the service did not start: " + "".join(lines).strip())


def fill(address: str, token: str) -> None:
    """What a steward and two analysts would do."""
    with eq.Client(address, token=token) as steward:
        steward.register(
            "people.csv", schema="people.toml", epsilon=4.0, delta=1e-8, analyst_epsilon=4.0, analyst_delta=1e-8
        )
        table = steward.open_for_questions(
            "people",
            epsilon=2.0,
            analyst_epsilon=1.0,
            num_analysts=5,
            queries_each=100,
            columns=["sex", "age", "education", "work"],
        )
        analysts = {name: steward.invite("people", name) for name in ("Ada", "Bob")}
    online = table["online"]
    print(f"\nThe table people is open for questions, mechanism {online['mode']}. {online['reason']}\n")
    for name, query in (
        ("Ada", "sex = Female and age in 30..39"),
        ("Ada", "work = retired"),
        ("Bob", "education in {bachelor, 'master or more'}"),
    ):
        with eq.Client(address, token=analysts[name]) as service:
            answer = service.ask(query)
            bar = "nothing promised" if answer.half_width is None else f"± {answer.half_width:.2%}"
            print(f"{name} asks: {answer.text}\n    {answer.share:.2%} of the records, {bar} ({answer.source})")
    print(f"\nconsole          {address}/console/\ninterface        {address}/v1/openapi.json")
    print(f"steward's token  {token}")
    for name, secret in analysts.items():
        print(f"{name + chr(39) + 's token':<16} {secret}")


if __name__ == "__main__":
    main()
