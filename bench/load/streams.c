/*
 * Holds streams open and measures them: each connection asks again when its
 * stream is over. The first event's time counts from the request; every event's
 * delay from the time that the model server wrote into it, between @ signs.
 * Usage: streams PORT PATH OPEN SECONDS TOKEN [HEADER: VALUE]... < BODY
 * Prints JSON, times in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, ROOM = 1 << 16, SAMPLES = 1 << 22 };

typedef struct {
  int fd, first, reads;
  uint64_t asked, start;
  char tail[64]; /* a stamp or the end may be split between two reads */
  size_t tailLength;
} Stream;

static Stream streams[MOST];
static uint32_t firsts[SAMPLES], delays[SAMPLES];
static size_t firstCount, delayCount, eventReads, over;
static char request[8192];
static size_t requestLength;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int order(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static double at(uint32_t *all, size_t count, double share) {
  return count ? all[(size_t)((double)(count - 1) * share)] / 1000.0 : -1;
}

static void ask(Stream *s) {
  s->first = 1;
  s->tailLength = 0;
  s->asked = now();
  if (send(s->fd, request, requestLength, MSG_NOSIGNAL) < 0) perror("send"), exit(1);
}

static void take(Stream *s, char *bytes, size_t length, int counts) {
  char joined[ROOM + 64 + 1];
  memcpy(joined, s->tail, s->tailLength);
  memcpy(joined + s->tailLength, bytes, length);
  length += s->tailLength;
  joined[length] = 0;
  uint64_t t = now();
  char *from = joined, *stamp;
  int any = 0;
  while ((stamp = memchr(from, '@', length - (size_t)(from - joined)))) {
    char *end = memchr(stamp + 1, '@', length - (size_t)(stamp + 1 - joined));
    if (!end) break;
    uint64_t written = strtoull(stamp + 1, NULL, 10);
    from = end + 1;
    any = 1;
    if (s->first && counts && firstCount < SAMPLES) firsts[firstCount++] = (uint32_t)(t - s->asked);
    s->first = 0;
    if (counts && delayCount < SAMPLES) delays[delayCount++] = (uint32_t)(t - written);
  }
  eventReads += (size_t)(any && counts);
  char *done = strstr(from, "0\r\n\r\n");
  if (done && strstr(from, "[DONE]")) {
    over += (size_t)counts;
    ask(s);
    return;
  }
  size_t left = length - (size_t)(from - joined);
  /* The end has to be seen whole: keep what follows the last stamp, as far as there is room. */
  s->tailLength = left < 63 ? left : 63;
  memcpy(s->tail, joined + length - s->tailLength, s->tailLength);
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  int port = atoi(argv[1]), open = atoi(argv[3]);
  double seconds = atof(argv[4]);
  static char body[4096];
  size_t length = fread(body, 1, sizeof body - 1, stdin);
  requestLength = (size_t)snprintf(request, sizeof request,
                                   "POST %s HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nauthorization: Bearer %s\r\n"
                                   "content-type: application/json\r\ncontent-length: %zu\r\n",
                                   argv[2], port, argv[5], length);
  for (int i = 6; i < argc; i++)
    requestLength += (size_t)sprintf(request + requestLength, "%s\r\n", argv[i]);
  requestLength += (size_t)sprintf(request + requestLength, "\r\n%s", body);
  int poll = epoll_create1(0), on = 1, begun = 0;
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  uint64_t start = now();
  /* The streams begin spread over the length of one, 1.28 s; that and as much again is not counted. */
  uint64_t counted = start + 2560000000ull, end = counted + (uint64_t)(seconds * 1e9);
  struct epoll_event events[256];
  char bytes[ROOM];
  for (;;) {
    uint64_t t = now();
    if (t >= end) break;
    while (begun < open && t >= start + (uint64_t)begun * 1280000000ull / (uint64_t)open) {
      Stream *s = &streams[begun++];
      s->fd = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(s->fd, (struct sockaddr *)&to, sizeof to)) return perror("connect"), 1;
      setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
      epoll_ctl(poll, EPOLL_CTL_ADD, s->fd, &e);
      ask(s);
    }
    int n = epoll_wait(poll, events, 256, begun < open ? 1 : 100);
    for (int i = 0; i < n; i++) {
      Stream *s = events[i].data.ptr;
      ssize_t got = recv(s->fd, bytes, sizeof bytes - 1, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) {
        fprintf(stderr, "a stream broke off\n");
        return 1;
      }
      take(s, bytes, (size_t)got, now() >= counted);
    }
  }
  qsort(firsts, firstCount, sizeof *firsts, order);
  qsort(delays, delayCount, sizeof *delays, order);
  printf("{\"events\":%zu,\"eventReads\":%zu,\"streams\":%zu,\"first50\":%.1f,\"first99\":%.1f,"
         "\"delay50\":%.1f,\"delay99\":%.1f}\n",
         delayCount, eventReads, over, at(firsts, firstCount, 0.5), at(firsts, firstCount, 0.99),
         at(delays, delayCount, 0.5), at(delays, delayCount, 0.99));
  return delayCount == 0;
}
