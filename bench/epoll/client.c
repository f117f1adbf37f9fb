// The constant client of `bench net` and `bench accept`: one thread, epoll.
//
//   client echo  PORT PID CONNS PAYLOAD DEPTH WARMUP_MS WINDOW_MS SEED
//   client short PORT PID CONNS PAYLOAD AT_ONCE WARMUP_CONNS SEED
//
// A frame is four bytes of length, big-endian, and PAYLOAD bytes, which are
// those of a random pattern from another place for each frame, so that an
// answer that is lost, repeated or mixed up does not go unseen. One JSON line
// on standard output says what the window showed. The server's CPU time is that
// of the kernel's clock of process PID, read at both edges of the window.
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
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { HEADER = 4, SHIFTS = 1021, ROOM = 1 << 18, BATCH = 256, PIECES = 64, ADDRESSES = 200 };

struct conn {
	int fd;
	int writable;             // EPOLLOUT is asked for
	uint64_t sent, received;  // whole frames
	size_t out, in;           // bytes of the frame at hand
	int64_t *at;              // when each frame in flight was sent, by number
};

static char *pattern;
static unsigned char header[HEADER];
static size_t payload, frame;
static int depth, poll_fd;
static clockid_t server_clock;
static struct sockaddr_in server;

static void die(const char *what) {
	fprintf(stderr, "client: %s: %s\n", what, errno ? strerror(errno) : "wrong");
	exit(1);
}

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t server_cpu(void) {
	struct timespec t;
	if (clock_gettime(server_clock, &t) != 0) die("the server's clock");
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// Latencies go into 32 buckets for each power of two of nanoseconds: 3 % wide.
static uint64_t buckets[64 * 32], counted;

static void count(int64_t ns) {
	uint64_t v = ns < 32 ? 32 : (uint64_t)ns;
	int power = 63 - __builtin_clzll(v);
	buckets[power * 32 + ((v >> (power - 5)) & 31)]++;
	counted++;
}

static double quantile_us(double q) {
	uint64_t before = 0, want = (uint64_t)(q * (double)counted);
	for (int i = 0; i < 64 * 32; i++) {
		before += buckets[i];
		if (before > want) {
			double low = (double)(1ULL << (i / 32));
			return low * (1 + (i % 32 + 0.5) / 32) / 1000;
		}
	}
	return 0;
}

static const char *payload_of(const struct conn *c, uint64_t number) {
	return pattern + (number + (uint64_t)c->fd * 31) % SHIFTS;
}

// open_conn connects: at once on loopback, the listener's queue being long. It
// uses many addresses of ours, because each has ports for 28,000 connections
// only, those that were closed a minute ago included, and the kernel looks for a
// free one the longer the fewer there are. None of them is 127.0.0.1, where
// others listen.
static void open_conn(struct conn *c, int number) {
	if ((c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0) die("socket");
	int on = 1;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (1 << 16) + number % ADDRESSES)};
	if (bind(c->fd, (struct sockaddr *)&own, sizeof own) != 0) die("bind");
	if (connect(c->fd, (struct sockaddr *)&server, sizeof server) != 0) die("connect");
}

static void watch(struct conn *c, int op) {
	struct epoll_event ev = {.events = EPOLLIN | (c->writable ? EPOLLOUT : 0), .data.ptr = c};
	if (epoll_ctl(poll_fd, op, c->fd, &ev) != 0) die("epoll_ctl");
}

// send_frames sends until `depth` frames are in flight or the socket is full.
static void send_frames(struct conn *c, int64_t t) {
	uint64_t until = c->received + depth;
	while (c->sent < until) {
		struct iovec iov[2 * PIECES];
		int n = 0;
		size_t skip = c->out, bytes = 0;
		for (uint64_t f = c->sent; f < until && n + 2 <= 2 * PIECES; f++) {
			if (f != c->sent || c->out == 0) c->at[f % depth] = t;
			if (skip < HEADER) {
				iov[n++] = (struct iovec){header + skip, HEADER - skip};
				skip = HEADER;
			}
			iov[n++] = (struct iovec){(char *)payload_of(c, f) + (skip - HEADER), frame - skip};
			bytes += frame - (f == c->sent ? c->out : 0);
			skip = 0;
		}
		struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};
		ssize_t k = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (k < 0 && errno == EINTR) continue;
		if (k < 0 && errno != EAGAIN) die("send");
		if (k > 0) {
			c->sent += (c->out + k) / frame;
			c->out = (c->out + k) % frame;
		}
		if (k < (ssize_t)bytes) break;
	}
	if ((c->sent < until) != c->writable) {
		c->writable = c->sent < until;
		watch(c, EPOLL_CTL_MOD);
	}
}

// verify checks n received bytes and returns how many frames they end.
static int verify(struct conn *c, const char *p, size_t n) {
	int ended = 0;
	while (n > 0) {
		const char *want = c->in < HEADER ? (char *)header + c->in : payload_of(c, c->received) + (c->in - HEADER);
		size_t k = (c->in < HEADER ? HEADER : frame) - c->in;
		if (k > n) k = n;
		if (c->received == c->sent && c->in >= c->out) { errno = 0; die("an answer without a request"); }
		if (memcmp(p, want, k) != 0) { errno = 0; die("an answer that is not the request"); }
		p += k, n -= k, c->in += k;
		if (c->in == frame) c->in = 0, c->received++, ended++;
	}
	return ended;
}

static char room[ROOM];

// receive reads once. Negative: the server has closed.
static int receive(struct conn *c) {
	ssize_t n = recv(c->fd, room, sizeof room, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
	if (n < 0) die("recv");
	if (n == 0) { errno = 0; die("the server has closed, which is"); }
	return verify(c, room, n);
}

static void echo(int conns, int64_t warmup, int64_t length) {
	struct conn *all = calloc(conns, sizeof *all);
	for (int i = 0; i < conns; i++) {
		open_conn(&all[i], i);
		all[i].at = calloc(depth, sizeof(int64_t));
		watch(&all[i], EPOLL_CTL_ADD);
	}
	for (int i = 0; i < conns; i++) send_frames(&all[i], now());
	int64_t begin = now() + warmup, end = 0, cpu = 0;
	struct epoll_event evs[BATCH];
	for (;;) {
		int n = epoll_wait(poll_fd, evs, BATCH, 5000);
		if (n == 0) { errno = 0; die("no answer within five seconds, which is"); }
		int64_t t = now();
		if (end == 0 && t >= begin) {
			cpu = server_cpu();
			begin = now(), end = begin + length;
		} else if (end != 0 && t >= end) {
			cpu = server_cpu() - cpu;
			end = now();
			break;
		}
		for (int i = 0; i < n; i++) {
			struct conn *c = evs[i].data.ptr;
			if (evs[i].events & ~EPOLLOUT) {
				uint64_t first = c->received;
				receive(c);
				t = now();
				for (; end != 0 && first < c->received; first++) count(t - c->at[first % depth]);
			}
			send_frames(c, t);
		}
	}
	if (counted == 0) { errno = 0; die("no answer in the window, which is"); }
	printf("{\"Count\":%llu,\"Seconds\":%.9f,\"P50\":%.3f,\"P99\":%.3f,\"ServerCPU\":%lld}\n",
		(unsigned long long)counted, (double)(end - begin) / 1e9, quantile_us(.5), quantile_us(.99), (long long)cpu);
}

static void close_conn(struct conn *c) {
	if (close(c->fd) != 0) die("close"); // leaves the epoll by itself
}

// short_conns makes warmup and then conns connections of one exchange each,
// at_once at a time.
static void short_conns(int conns, int at_once, int warmup) {
	struct conn *all = calloc(at_once, sizeof *all);
	int64_t *slots = calloc(at_once, sizeof *slots);
	int opened = 0, done = 0, total = conns + warmup;
	int64_t begin = now(), cpu = server_cpu();
	struct epoll_event evs[BATCH];
	for (int i = 0; i < at_once && opened < total; i++) {
		all[i].at = &slots[i];
		open_conn(&all[i], opened++);
		watch(&all[i], EPOLL_CTL_ADD);
		send_frames(&all[i], 0);
	}
	while (done < total) {
		int n = epoll_wait(poll_fd, evs, BATCH, 5000);
		if (n == 0) { errno = 0; die("no answer within five seconds, which is"); }
		for (int i = 0; i < n; i++) {
			struct conn *c = evs[i].data.ptr;
			if (evs[i].events & ~EPOLLOUT) receive(c);
			if (c->received == 0) {
				if (c->writable) send_frames(c, 0);
				continue;
			}
			close_conn(c);
			if (++done == warmup) begin = now(), cpu = server_cpu();
			int64_t *at = c->at;
			*c = (struct conn){.at = at};
			if (opened == total) continue;
			open_conn(c, opened++);
			watch(c, EPOLL_CTL_ADD);
			send_frames(c, 0);
		}
	}
	int64_t end = now();
	printf("{\"Count\":%d,\"Seconds\":%.9f,\"ServerCPU\":%lld}\n", conns, (double)(end - begin) / 1e9, (long long)(server_cpu() - cpu));
}

static long arg(char **argv, int i) { return strtol(argv[i], NULL, 10); }

int main(int argc, char **argv) {
	int is_echo = argc == 10 && strcmp(argv[1], "echo") == 0;
	if (!is_echo && !(argc == 9 && strcmp(argv[1], "short") == 0)) {
		fprintf(stderr, "client: for bench itself\n");
		return 2;
	}
	server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(arg(argv, 2)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if ((errno = clock_getcpuclockid(arg(argv, 3), &server_clock)) != 0) die("the server's clock");
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	int conns = arg(argv, 4);
	payload = arg(argv, 5), frame = HEADER + payload;
	uint32_t length = htonl(payload);
	memcpy(header, &length, HEADER);
	pattern = malloc(payload + SHIFTS);
	uint64_t x = (uint64_t)arg(argv, argc - 1) * 2 + 1;
	for (size_t i = 0; i < payload + SHIFTS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		pattern[i] = (char)(x >> 56);
	}
	if ((poll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) die("epoll_create1");
	if (is_echo) {
		depth = arg(argv, 6);
		echo(conns, arg(argv, 7) * 1000000, arg(argv, 8) * 1000000);
	} else {
		depth = 1;
		short_conns(conns, arg(argv, 6), arg(argv, 7));
	}
	return 0;
}
