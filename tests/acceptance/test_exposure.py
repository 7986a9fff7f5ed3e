"""What a running server shows to other users of the machine and to its network: nothing."""

import ipaddress
from pathlib import Path

import psutil
import pytest

from tests.harness.processes import engine_of
from tests.harness.server import Server


@pytest.mark.slow
@pytest.mark.ray
def test_a_server_and_its_actors_listen_on_the_loopback_in_folders_of_their_own(
    tmp_path: Path,
) -> None:
    with Server(tmp_path) as server:
        server.until(server.begin(), "awaiting_review")
        heard_at = {
            (process.name(), socket.laddr.ip)
            for process in map(psutil.Process, engine_of(server.data.path))
            for socket in process.net_connections("tcp")
            if socket.status == psutil.CONN_LISTEN
        }
        assert len(heard_at) > 3, "the server, Ray's own processes and the actors listen"
        assert {each for each in heard_at if not _is_loopback(each[1])} == set()
        for folder in (server.data.path, Path(server.data.ray.read_text())):
            assert folder.stat().st_mode & 0o077 == 0, folder


def _is_loopback(told: str) -> bool:
    address = ipaddress.ip_address(told)
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
