/* What callgrind counts of calls: nested, recursive, mutually recursive, by pointer, in two threads. */
#include <pthread.h>

static volatile unsigned long sink;

__attribute__((noinline)) static unsigned long leaf(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++)
        sum += i ^ n;
    return sum;
}

__attribute__((noinline)) static unsigned long twice(unsigned long n) { return leaf(n) + leaf(2 * n); }

__attribute__((noinline)) static unsigned long fib(unsigned n) { return n < 2 ? leaf(3) : fib(n - 1) + fib(n - 2); }

__attribute__((noinline)) static unsigned long even(unsigned n);
__attribute__((noinline)) static unsigned long odd(unsigned n) { return n == 0 ? 0 : 1 + even(n - 1); }
__attribute__((noinline)) static unsigned long even(unsigned n) { return n == 0 ? leaf(5) : 1 + odd(n - 1); }

__attribute__((noinline)) static void *work(void *unused) {
    (void)unused;
    unsigned long (*volatile pointer)(unsigned long) = twice;
    sink += pointer(10) + fib(6) + even(9);
    return 0;
}

int main(void) {
    pthread_t thread;
    work(0);
    if (pthread_create(&thread, 0, work, 0) != 0)
        return 1;
    return pthread_join(thread, 0);
}
