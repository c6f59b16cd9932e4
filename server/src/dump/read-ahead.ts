// Asks for the next item while the current one is being worked on, so that reading and writing overlap.

export async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  const items = source[Symbol.asyncIterator]();
  const ask = () => {
    const next = items.next();
    // A failure is told when its turn comes.
    next.catch(() => {});
    return next;
  };
  try {
    for (let next = ask(); ; ) {
      const { done, value } = await next;
      if (done) return;
      next = ask();
      yield value;
    }
  } finally {
    await items.return?.();
  }
}
