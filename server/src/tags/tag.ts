// A tag: a name and a colour to sort links by.

export const TAG_COLORS = ['red', 'yellow', 'green', 'blue', 'purple', 'brown', 'gray', 'pink'] as const;
export type TagColor = (typeof TAG_COLORS)[number];

/** Colours handed out when none was asked for. */
export const DEFAULT_TAG_COLORS = TAG_COLORS.filter((color) => color !== 'pink');

export interface Tag {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly color: TagColor;
  readonly createdAt: number;
}

/** Names that differ only in case are the same name. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase();
}
