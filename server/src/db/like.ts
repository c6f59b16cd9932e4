// Substring search that means the same on every engine. Case is folded by the caller, on both sides.
import { type Expression, type SqlBool, sql } from 'kysely';

/** The LIKE pattern for text that contains this one literally; to be used with ESCAPE '\'. */
export function containsPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}

export function contains(column: Expression<string>, text: string): Expression<SqlBool> {
  return sql<SqlBool>`${column} like ${containsPattern(text)} escape '\\'`;
}
