// Reads the payload of a change. It is our own: only what would spoil a whole batch is checked.

/** Undefined where it is no JSON object or one of the named fields is no text. */
export function readPayload<T extends object>(
  text: string,
  texts: readonly (keyof T & string)[],
): T | undefined {
  try {
    const value = JSON.parse(text) as T | null;
    return value && texts.every((field) => typeof value[field] === 'string') ? value : undefined;
  } catch {
    return undefined;
  }
}
