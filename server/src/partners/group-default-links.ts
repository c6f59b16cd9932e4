// What a change of a group's default links does to the partners that are in the group already: they get a link for a
// new one, and links for one that was removed become links like any other. A group may have any number of partners.
import type { Database } from '../db/database.ts';
import { createWalk } from '../db/walk.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { DefaultLinks } from './default-links.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { isActive } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { GroupStore } from './group.store.ts';
import type { DefaultLink, PartnerGroup } from './group.ts';
import type { PartnerLinkRowStore } from './partner-link-rows.store.ts';
import type { ProgramStore } from './program.store.ts';
import { type Program, programActor } from './program.ts';

export interface GroupDefaultLinksParts {
  readonly db: Database;
  readonly groups: GroupStore;
  readonly programs: Pick<ProgramStore, 'find'>;
  readonly enrolments: Pick<Enrolments, 'withPeople'>;
  readonly enrolmentStore: Pick<EnrolmentStore, 'findMembers'>;
  readonly defaultLinks: Pick<DefaultLinks, 'add'>;
  readonly rows: Pick<PartnerLinkRowStore, 'releaseDefault'>;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly clock: Clock;
}

/** Each of them gets a link. */
const MAKES_PER_STEP = 50;
const RELEASES_PER_STEP = 500;

export function createGroupDefaultLinks(parts: GroupDefaultLinksParts) {
  const { db, groups, programs, enrolments, enrolmentStore, defaultLinks, rows, workspaces, clock } = parts;
  const making = createWalk({ db, kind: 'default-link', step: makeSome, membersPerStep: MAKES_PER_STEP });
  const releasing = createWalk({
    db,
    kind: 'default-link-gone',
    step: releaseSome,
    membersPerStep: RELEASES_PER_STEP,
  });

  /** Whoever is not active now gets the link when they come back. */
  async function makeSome(workspaceId: string, id: string, after: string, limit: number) {
    const target = await groups.findDefaultLink(id);
    const group = target && (await groups.find(target.groupId));
    if (!group) return undefined;
    const program = (await programs.find(group.programId)) as Program;
    const actor = programActor(await workspaces.get(workspaceId));
    const members = await enrolmentStore.findMembers(group, after, limit);
    const active = members.enrolments.filter(({ status }) => isActive(status));
    const people = await enrolments.withPeople(active);
    const owners = people.map((person) => ({ actor, program, group, ...person }));
    await defaultLinks.add(owners, target);
    return members.last;
  }

  async function releaseSome(_workspaceId: string, target: string, after: string, limit: number) {
    const [programId = '', groupId = '', defaultLinkId = ''] = target.split('/');
    const members = await enrolmentStore.findMembers({ programId, id: groupId }, after, limit);
    await rows.releaseDefault(
      members.enrolments.map(({ id }) => id),
      defaultLinkId,
    );
    return members.last;
  }

  return {
    /** Gives it to the partners of its group; in the transaction that makes it. */
    spread: ({ id, workspaceId }: DefaultLink): Promise<void> => making.begin(workspaceId, id, clock.now()),

    /** In the transaction that removes it. */
    release: ({ id, programId, workspaceId }: PartnerGroup, defaultLinkId: string): Promise<void> =>
      releasing.begin(workspaceId, `${programId}/${id}/${defaultLinkId}`, clock.now()),

    /** Goes on with both; for a job. */
    async run(signal: AbortSignal): Promise<void> {
      await releasing.run(signal);
      await making.run(signal);
    },
  };
}

export type GroupDefaultLinks = ReturnType<typeof createGroupDefaultLinks>;
