/*
 * A model server that is never the bottleneck: one thread, epoll, fixed answers.
 * Speaks enough of HTTP/1.1 for POST with a length, kept connections, pipelining
 * left out. What a request gets is said by its body:
 *   "stream":true and a model that begins with "paced": 64 events, one each 20 ms
 *   "stream":true and the model "hundred": 99 events in one write, each its own HTTP
 *   chunk, with the last message a hundred of the gateway's
 *   "stream":true and the model "apart": 64 events as fast as they are taken, each in a
 *   write of its own, one of each open stream in turn: so do servers that batch
 *   "stream":true otherwise: 64 events in one write
 *   path ending in /images/generations: 2 MB of base64 in JSON
 *   GET: a list of the models
 *   everything else: one completion
 * The text of each paced event is the time of its writing, nanoseconds of
 * CLOCK_MONOTONIC between @ signs, for load/streams.c.
 * Usage: upstream PORT
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 64, PACE_NS = 20 * 1000 * 1000, ROOM = 1 << 20, FDS = 1 << 16 };
enum { IMAGE = 2 * 1024 * 1024 };

typedef struct {
  char *in;
  size_t have;
  const char *out; /* what is still to be written of a fixed answer */
  size_t left;
  int sent;      /* paced: events so far */
  uint64_t next; /* paced: when the next one is due */
  int paced, open;
  int apart; /* which event of the stream is next, 0: none */
} Conn;

static Conn conns[FDS];
static int paced[FDS], pacedCount; /* descriptors with a paced stream */
static int apart[FDS], apartCount; /* descriptors with a stream in writes of their own */
static const char *cut[EVENTS + 1]; /* where the fixed stream's events end, its end with the last */
static char *whole, *stream, *hundred, *image, *models;
static size_t wholeLength, streamLength, hundredLength, imageLength, modelsLength;
static int poll_;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static size_t json(char **to, const char *body, size_t length) {
  *to = malloc(length + 256);
  int head = sprintf(*to,
                     "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                     "content-length: %zu\r\n\r\n",
                     length);
  memcpy(*to + head, body, length);
  return (size_t)head + length;
}

#define SSE_HEAD                                                        \
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"              \
  "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"

static size_t chunk(char *to, const char *data) {
  return (size_t)sprintf(to, "%zx\r\n%s\r\n", strlen(data), data);
}

static size_t event(char *to, const char *text, const char *reason) {
  char data[512];
  sprintf(data,
          "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,"
          "\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},"
          "\"finish_reason\":%s}]}\n\n",
          text, reason);
  return chunk(to, data);
}

static size_t streamEnd(char *to) {
  size_t n = event(to, "", "\"stop\"");
  n += chunk(to + n, "data: [DONE]\n\n");
  return n + (size_t)sprintf(to + n, "0\r\n\r\n");
}

static size_t fixed(char **to, int events, const char **ends) {
  *to = malloc(ROOM);
  size_t n = (size_t)sprintf(*to, SSE_HEAD);
  for (int i = 0; i < events; i++) {
    n += event(*to + n, " token", "null");
    if (ends) ends[i] = *to + n;
  }
  n += streamEnd(*to + n);
  if (ends) ends[events] = *to + n;
  return n;
}

static void prepare(void) {
  const char *completion =
      "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"bench\","
      "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"A lintel is the "
      "beam above a door; it carries the wall, and nobody looks at it.\"},\"finish_reason\":"
      "\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":18,\"total_tokens\":30}}";
  wholeLength = json(&whole, completion, strlen(completion));
  const char *list =
      "{\"object\":\"list\",\"data\":[{\"id\":\"bench\",\"object\":\"model\"},"
      "{\"id\":\"hundred\",\"object\":\"model\"},{\"id\":\"apart\",\"object\":\"model\"},"
      "{\"id\":\"paced\",\"object\":\"model\"}]}";
  modelsLength = json(&models, list, strlen(list));
  streamLength = fixed(&stream, EVENTS, cut);
  hundredLength = fixed(&hundred, 99, NULL);
  /* One PNG of 1x1 does not fill 2 MB; what follows its end are bytes that viewers skip. */
  char *body = malloc(IMAGE + 256);
  int head = sprintf(body, "{\"created\":1,\"data\":[{\"b64_json\":\"");
  FILE *file = fopen(getenv("BENCH_IMAGE") ? getenv("BENCH_IMAGE") : "/dev/null", "r");
  size_t read = fread(body + head, 1, IMAGE, file);
  fclose(file);
  if (read == 0) memset(body + head, 'A', read = IMAGE);
  int tail = sprintf(body + head + read, "\"}]}");
  imageLength = json(&image, body, (size_t)head + read + (size_t)tail);
  free(body);
}

static void leave(int *list, int *count, int fd) {
  for (int i = 0; i < *count; i++)
    if (list[i] == fd) list[i--] = list[--*count];
}

static void drop(int fd) {
  close(fd);
  Conn *c = &conns[fd];
  free(c->in);
  if (c->paced) leave(paced, &pacedCount, fd);
  if (c->apart) leave(apart, &apartCount, fd);
  memset(c, 0, sizeof *c);
}

static void flush(int fd) {
  Conn *c = &conns[fd];
  while (c->left > 0) {
    ssize_t n = send(fd, c->out, c->left, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno != EAGAIN) return drop(fd);
      struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.fd = fd};
      epoll_ctl(poll_, EPOLL_CTL_MOD, fd, &e);
      return;
    }
    c->out += n;
    c->left -= (size_t)n;
  }
}

static void answer(int fd, const char *bytes, size_t length) {
  conns[fd].out = bytes;
  conns[fd].left = length;
  flush(fd);
}

static void pace(int fd, uint64_t at) {
  Conn *c = &conns[fd];
  char out[2048];
  size_t n = 0;
  if (c->sent == 0) n = (size_t)sprintf(out, SSE_HEAD);
  char stamp[32];
  sprintf(stamp, "@%llu@", (unsigned long long)now());
  n += event(out + n, stamp, "null");
  int over = ++c->sent == EVENTS;
  if (over) n += streamEnd(out + n);
  c->next = at + PACE_NS;
  if (over) {
    c->paced = 0;
    leave(paced, &pacedCount, fd);
  }
  if (send(fd, out, n, MSG_NOSIGNAL) < 0) drop(fd);
}

/* The next event, unless the last one is not yet taken. */
static void next(int fd) {
  Conn *c = &conns[fd];
  if (c->left > 0) return;
  const char *from = c->apart == 1 ? stream : cut[c->apart - 2], *to = cut[c->apart - 1];
  if (c->apart++ == EVENTS + 1) {
    c->apart = 0;
    leave(apart, &apartCount, fd);
  }
  answer(fd, from, (size_t)(to - from));
}

static void request(int fd) {
  Conn *c = &conns[fd];
  c->in[c->have] = 0;
  char *end = strstr(c->in, "\r\n\r\n");
  if (!end) return;
  char *length = strcasestr(c->in, "\ncontent-length:");
  size_t body = length && length < end ? strtoul(length + 16, NULL, 10) : 0;
  if (c->have < (size_t)(end + 4 - c->in) + body) return;
  c->have = 0;
  if (strncmp(c->in, "GET", 3) == 0) return answer(fd, models, modelsLength);
  if (memmem(c->in, 200, "/images/", 8)) return answer(fd, image, imageLength);
  char *streams = strstr(end, "\"stream\":true");
  if (!streams) streams = strstr(end, "\"stream\": true");
  if (!streams) return answer(fd, whole, wholeLength);
  if (strstr(end, "\"hundred\"")) return answer(fd, hundred, hundredLength);
  if (strstr(end, "\"apart\"")) {
    c->apart = 1;
    apart[apartCount++] = fd;
    return;
  }
  if (!strstr(end, "paced")) return answer(fd, stream, streamLength);
  c->sent = 0;
  c->paced = 1;
  paced[pacedCount++] = fd;
  pace(fd, now());
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  signal(SIGPIPE, SIG_IGN);
  prepare();
  int on = 1, server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)atoi(argv[1])),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(server, (struct sockaddr *)&at, sizeof at) || listen(server, 4096)) return perror("listen"), 1;
  poll_ = epoll_create1(0);
  int clock = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct itimerspec each = {{0, 500000}, {0, 500000}};
  timerfd_settime(clock, 0, &each, NULL);
  struct epoll_event e = {.events = EPOLLIN, .data.fd = server}, events[256];
  epoll_ctl(poll_, EPOLL_CTL_ADD, server, &e);
  e.data.fd = clock;
  epoll_ctl(poll_, EPOLL_CTL_ADD, clock, &e);
  puts("listening");
  fflush(stdout);
  for (;;) {
    int n = epoll_wait(poll_, events, 256, apartCount > 0 ? 0 : -1);
    for (int i = 0; i < n; i++) {
      int fd = events[i].data.fd;
      if (fd == clock) {
        uint64_t ticks, at = now();
        if (read(clock, &ticks, sizeof ticks) < 0) continue;
        for (int k = pacedCount - 1; k >= 0; k--)
          if (k < pacedCount && conns[paced[k]].next <= at) pace(paced[k], conns[paced[k]].next);
      } else if (fd == server) {
        int peer;
        while ((peer = accept4(server, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
          if (peer >= FDS) {
            close(peer);
            continue;
          }
          setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          conns[peer].in = malloc(ROOM + 1);
          conns[peer].open = 1;
          e.events = EPOLLIN;
          e.data.fd = peer;
          epoll_ctl(poll_, EPOLL_CTL_ADD, peer, &e);
        }
      } else {
        Conn *c = &conns[fd];
        if (!c->open) continue;
        if (events[i].events & EPOLLOUT) {
          e.events = EPOLLIN;
          e.data.fd = fd;
          epoll_ctl(poll_, EPOLL_CTL_MOD, fd, &e);
          flush(fd);
          if (!c->open) continue;
        }
        ssize_t got = read(fd, c->in + c->have, ROOM - c->have);
        if (got == 0 || (got < 0 && errno != EAGAIN) || c->have + (size_t)(got > 0 ? got : 0) >= ROOM) {
          drop(fd);
          continue;
        }
        if (got > 0) {
          c->have += (size_t)got;
          request(fd);
        }
      }
    }
    for (int k = apartCount - 1; k >= 0; k--)
      if (k < apartCount) next(apart[k]);
  }
}
