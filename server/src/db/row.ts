// Rows with names as the rest of the program has them: columns in snake_case become fields in camelCase, and back.

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

/** What a row is called outside its store. */
export type Fields<R> = { readonly [K in keyof R & string as Camel<K>]: R[K] };

export function toFields<R extends object>(row: R): Fields<R> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  ) as Fields<R>;
}

/** The columns of the fields given; those that are undefined stay out of the statement. */
export function toColumns(fields: object): Record<string, never> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value as never,
      ]),
  );
}

/** JSON kept as text. */
export function fromJson<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

export function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
