// Calls between two threads over one port, in both directions: a name and a value go over, a value or an error
// comes back. When the other side is gone, everything that waits for it fails.

export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

export interface Calls {
  call<T>(name: string, argument?: unknown): Promise<T>;
  /** Without an answer, and without knowing that it arrived. */
  tell(name: string, argument: unknown): void;
  /** Takes what came over the port. */
  receive(message: Message): void;
  /** The other side is gone. */
  end(cause: Error): void;
}

export type Message =
  | { ask: number; name: string; argument: unknown }
  | { tell: string; argument: unknown }
  | { answer: number; value: unknown }
  | { answer: number; failure: string };

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export function createCalls(post: (message: Message) => void, handlers: Handlers): Calls {
  const waiting = new Map<number, Waiting>();
  let ended: Error | undefined;
  let asked = 0;

  async function answer(id: number, name: string, argument: unknown): Promise<void> {
    try {
      const value = await run(name, argument);
      post({ answer: id, value });
    } catch (error) {
      post({ answer: id, failure: error instanceof Error ? error.message : String(error) });
    }
  }

  function run(name: string, argument: unknown): unknown {
    const handler = handlers[name];
    if (!handler) throw new Error(`There is no call ${name}`);
    return handler(argument as never);
  }

  function receive(message: Message): void {
    if ('ask' in message) return void answer(message.ask, message.name, message.argument);
    if ('tell' in message) return void run(message.tell, message.argument);
    const caller = waiting.get(message.answer);
    waiting.delete(message.answer);
    if ('failure' in message) caller?.reject(new Error(message.failure));
    else caller?.resolve(message.value);
  }

  return {
    call<T>(name: string, argument?: unknown): Promise<T> {
      if (ended) return Promise.reject(ended);
      asked += 1;
      const id = asked;
      return new Promise<T>((resolve, reject) => {
        waiting.set(id, { resolve: (value) => resolve(value as T), reject });
        post({ ask: id, name, argument });
      });
    },
    receive,
    tell: (name, argument) => post({ tell: name, argument }),
    end(cause) {
      ended = cause;
      for (const caller of waiting.values()) caller.reject(cause);
      waiting.clear();
    },
  };
}
