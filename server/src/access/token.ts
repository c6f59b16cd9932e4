// An API key: what is kept of it, and the pure rules about its text.
import { randomText, sha256Hex } from '../kernel/ids.ts';

export interface Token {
  readonly id: string;
  readonly name: string;
  readonly partialKey: string;
  /** Empty: all the rights of the owner's role. */
  readonly scopes: readonly string[];
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly workspaceId: string;
  readonly user: {
    readonly id: string;
    readonly name: string | null;
    readonly image: string | null;
    readonly isMachine: boolean;
  };
}

export const MAX_TOKENS = 100;

export function newKey(): string {
  return `lt_${randomText(24)}`;
}

/** Keys are never stored, only this hash of them. */
export function hashKey(key: string): string {
  return sha256Hex(key);
}

/** Enough to recognise a key in a list, not enough to use it. */
export function partialKey(key: string): string {
  return `${key.slice(0, 3)}...${key.slice(-4)}`;
}
