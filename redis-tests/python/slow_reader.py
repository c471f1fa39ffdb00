"""A client that asks for one large value and takes its time: it reads the beginning, then on each line of its input all that
comes within two seconds of silence, and prints how many bytes it has so far, or "ended" when the connection has ended.

    slow_reader.py <port> <key>
"""
import socket
import sys

s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)  # what is not read stays with the server
s.connect(("127.0.0.1", int(sys.argv[1])))
key = sys.argv[2].encode()
s.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key))
s.settimeout(60)
total = len(s.recv(1024))
print(total, flush=True)
s.settimeout(2)
for _ in sys.stdin:
    try:
        while True:
            data = s.recv(1 << 20)
            if not data:
                print("ended", flush=True)
                sys.exit(0)
            total += len(data)
    except TimeoutError:
        print(total, flush=True)
    except OSError:
        print("ended", flush=True)
        sys.exit(0)
