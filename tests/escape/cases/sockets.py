"""Reaching host services without the network, and objects that outlive a process."""

import os
import socket
import subprocess
import threading
import uuid

from blackbox.box import held
from blackbox.suite import Skip, case, check

CONNECT = r"""
import socket, sys
for name in sys.argv[2:]:
    address = "\0" + name[1:] if name[0] == "@" else name
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_UNIX, kind)
        try:
            s.connect(address)
            print("ESCAPED: connected to", name)
        except OSError as e:
            print("held:", name, e)
"""


def listening(address, kind=socket.SOCK_STREAM):
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(address)
    if kind != socket.SOCK_DGRAM:
        server.listen(5)
    return server


@case("an abstract socket of the host is out of reach")
def abstract_socket(box):
    name = "pinfold-" + uuid.uuid4().hex
    with listening("\0" + name), listening("\0" + name + "d", socket.SOCK_DGRAM):
        held(box.run("/usr/bin/python3", "-c", CONNECT, box.mark, "@" + name, "@" + name + "d"))


@case("a socket under /run is out of reach", only="root")
def socket_under_run(box):
    path = f"/run/pinfold-{uuid.uuid4().hex}.sock"
    with listening(path):
        os.chmod(path, 0o666)
        try:
            held(box.run("/usr/bin/python3", "-c", CONNECT, box.mark, path, path.replace("/run", "/var/run")))
        finally:
            os.unlink(path)


@case("sockets of the host's /tmp are out of reach")
def socket_under_tmp(box):
    path = f"/tmp/pinfold-{uuid.uuid4().hex}.sock"
    with listening(path):
        os.chmod(path, 0o777)
        try:
            held(box.run("/usr/bin/python3", "-c", CONNECT, box.mark, path))
        finally:
            os.unlink(path)


@case("a socket in a denied directory is out of reach")
def socket_in_denied_directory(box):
    path = os.path.join(box.make("outside"), "control.sock")
    with listening(path):
        os.chmod(path, 0o777)
        held(box.run("/usr/bin/python3", "-c", CONNECT, box.mark, path, options=["--deny", box.make("outside")]))


NETWORK = r"""
import socket, sys
for address in (("127.0.0.1", int(sys.argv[2])), ("1.1.1.1", 53), ("169.254.169.254", 80), ("10.0.0.1", 80)):
    s = socket.socket()
    s.settimeout(2)
    try:
        s.connect(address)
        print("ESCAPED: connected to", address)
    except OSError as e:
        print("held:", address, e)
    s.close()
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53))
    print("ESCAPED: sent a datagram")
except OSError as e:
    print("held:", e)
"""


@case("neither the host's loopback nor any network can be reached")
def network(box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        held(box.run("/usr/bin/python3", "-c", NETWORK, box.mark, str(server.getsockname()[1])))


@case("System V and POSIX objects of one run are not seen by another or by the host")
def shared_objects(box):
    key, name = str(0x50000000 + os.getpid()), "pinfold-" + uuid.uuid4().hex
    program = box.program("shared_objects")
    first = box.start("/bin/sh", "-c", f"{program} make {key} {name} && true >made && sleep 3", box.mark)
    box.wait_for("made")
    held(box.run(program, "find", key, name))
    host = subprocess.run([program, "find", key, name], capture_output=True, text=True, check=False)
    check("ESCAPED" not in host.stdout, f"seen on the host: {host.stdout}")
    check(not os.path.exists(f"/dev/shm/{name}"), "it is in the host's /dev/shm")
    first.process.terminate()
    first.wait()


@case("a file of one run's /tmp and /dev/shm is not in another's")
def private_directories(box):
    name = "pinfold-" + uuid.uuid4().hex
    first = box.start("/bin/sh", "-c", f"true >/tmp/{name}; true >/dev/shm/{name}; true >made; sleep 3", box.mark)
    box.wait_for("made")
    seen = box.sh(f"ls /tmp /dev/shm | grep -q {name} && echo ESCAPED: seen; echo held: looked")
    held(seen)
    check(not os.path.exists(f"/tmp/{name}") and not os.path.exists(f"/dev/shm/{name}"), "it is on the host")
    first.process.terminate()
    first.wait()


@case("a descriptor sent by a socket of the workspace leads back into it only")
def passed_descriptor(box):
    path = box.inside("s")
    if len(path) > 100:
        raise Skip("the temporary directory's name is too long for a socket")
    got = []

    def serve(server):
        connection, _ = server.accept()
        _data, fds, _flags, _address = socket.recv_fds(connection, 10, 4)
        got.extend(fds)

    with listening(path) as server:
        os.chmod(path, 0o777)
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        box.python(
            "import socket, os\ns = socket.socket(socket.AF_UNIX)\ns.connect('s')\n"
            "socket.send_fds(s, [b'x'], [os.open('/etc', os.O_RDONLY)])"
        )
        thread.join(5)
    for fd in got:  # a read-only root stays so through a descriptor that left it
        try:
            os.close(os.open("pinfold-test", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        except OSError:
            pass
        else:
            raise AssertionError("the host wrote through a read-only mount of the sandbox")
        finally:
            os.close(fd)
