// The peer c-epoll of `bench net`: one thread, level-triggered epoll, for each
// event one recv and, if it ended frames, one send of all of them.
//
// A frame is four bytes of length, big-endian, and so many bytes. It is echoed
// once it is whole. The first line on standard output is the address; the
// process ends when its standard input does.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADER = 4, ROOM = 1 << 18, BATCH = 256 };

// What a connection could not get rid of yet lies in its own buffer: first
// what is to be sent, then the start of a frame. Most have none.
struct conn {
	int fd;
	int full;           // what is to be sent waits for EPOLLOUT
	char *own;          // NULL while the connection holds nothing
	size_t whole, to, size;
};

static int poll_fd;
static char room[ROOM]; // all connections receive into it

static void die(const char *what) {
	perror(what);
	exit(1);
}

static void watch(struct conn *c, int op) {
	struct epoll_event ev = {.events = c->full ? EPOLLOUT : EPOLLIN, .data.ptr = c};
	if (epoll_ctl(poll_fd, op, c->fd, &ev) != 0) die("epoll_ctl");
}

static void forget(struct conn *c) {
	close(c->fd);
	free(c->own);
	free(c);
}

// whole_frames is how many of n bytes belong to whole frames. *total is the
// size of the one that has begun, as far as it is known.
static size_t whole_frames(const char *p, size_t n, size_t *total) {
	size_t at = 0;
	for (*total = HEADER; n - at >= HEADER; *total = HEADER) {
		uint32_t length;
		memcpy(&length, p + at, HEADER);
		*total = HEADER + (size_t)ntohl(length);
		if (n - at < *total) break;
		at += *total;
	}
	return at;
}

// send_some returns how many bytes went, negative if the connection is gone.
static ssize_t send_some(struct conn *c, const char *p, size_t n) {
	if (n == 0) return 0;
	ssize_t k;
	while ((k = send(c->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 && errno == EINTR) {}
	return k < 0 && errno == EAGAIN ? 0 : k;
}

// keep makes room for n bytes in the connection's buffer.
static void keep(struct conn *c, size_t n) {
	if (c->size >= n) return;
	c->size = n;
	if ((c->own = realloc(c->own, n)) == NULL) die("realloc");
}

// answer sends what is whole of p[0:n] and keeps the rest. p is room, or the
// connection's own buffer.
static int answer(struct conn *c, char *p, size_t n, size_t whole, size_t total) {
	ssize_t k = send_some(c, p, whole);
	if (k < 0) return -1;
	size_t left = n - k;
	if (left > 0) {
		size_t need = whole - k + total;
		int kept = p != room;
		keep(c, need);
		memmove(c->own, (kept ? c->own : room) + k, left);
	} else if (c->own != NULL && total == HEADER && c->size > 4096) {
		free(c->own);
		c->own = NULL, c->size = 0;
	}
	c->whole = whole - k, c->to = left;
	if ((c->whole > 0) != c->full) {
		c->full = c->whole > 0;
		watch(c, EPOLL_CTL_MOD);
	}
	return 0;
}

static int readable(struct conn *c) {
	char *p = c->to > 0 ? c->own : room;
	size_t space = c->to > 0 ? c->size : ROOM;
	ssize_t n = recv(c->fd, p + c->to, space - c->to, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
	if (n <= 0) return -1;
	size_t total, all = c->to + n, whole = whole_frames(p, all, &total);
	return answer(c, p, all, whole, total);
}

static int writable(struct conn *c) {
	size_t total;
	whole_frames(c->own + c->whole, c->to - c->whole, &total);
	return answer(c, c->own, c->to, c->whole, total);
}

static void accept_all(int listener) {
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) return;
		int on = 1;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		struct conn *c = calloc(1, sizeof *c);
		c->fd = fd;
		watch(c, EPOLL_CTL_ADD);
	}
}

int main(void) {
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof a) != 0 || listen(listener, 65535) != 0) die("listen");
	if (getsockname(listener, (struct sockaddr *)&a, &size) != 0) die("getsockname");
	if ((poll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
	struct conn door = {.fd = listener}, end = {.fd = 0};
	watch(&door, EPOLL_CTL_ADD);
	watch(&end, EPOLL_CTL_ADD);
	printf("{\"Addr\":\"127.0.0.1:%d\"}\n", ntohs(a.sin_port));
	fflush(stdout);
	struct epoll_event evs[BATCH];
	for (;;) {
		int n = epoll_wait(poll_fd, evs, BATCH, -1);
		for (int i = 0; i < n; i++) {
			struct conn *c = evs[i].data.ptr;
			if (c == &end) return 0;
			if (c == &door) accept_all(listener);
			else if ((c->full ? writable(c) : readable(c)) < 0) forget(c);
		}
	}
}
