// The migrations this program knows, in order. Released ones never change: what is wrong is put right by a new one.
import type { Migration } from './migrate.ts';
import { ground } from './migrations/0001-ground.ts';
import { links } from './migrations/0002-links.ts';

export const migrations: readonly Migration[] = [ground, links];
