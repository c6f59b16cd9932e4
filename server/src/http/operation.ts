// An API operation as a value: what it is called, who may call it, what goes in, what comes out, and the
// function that does it. The router, the OpenAPI document and the authorisation test all read this one value.
import { z } from 'zod';

/** For operations that read the items of their body one by one. */
export { parseInput } from './input.ts';

export const PLANS = ['free', 'pro', 'business', 'advanced', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

export const ROLES = ['owner', 'member', 'viewer', 'billing'] as const;
export type Role = (typeof ROLES)[number];

export type Permission = `${string}.${'read' | 'write'}`;

/** Who is calling: made by authentication, trusted everywhere after it. */
export interface Actor {
  readonly tokenId: string;
  readonly userId: string;
  readonly role: Role;
  readonly permissions: ReadonlySet<string>;
  readonly workspaceId: string;
  readonly plan: Plan;
  /** What an operator capped in this workspace, by the name of the limit. */
  readonly limits: Readonly<Record<string, number>>;
}

/** A partner of a program, who acts within the workspace of the program and for nobody else. */
export interface PartnerActor extends Actor {
  readonly programId: string;
  readonly partnerId: string;
}

/** The right an operation asks for; every route line carries one. */
export type Access =
  | { readonly by: 'nobody' }
  | {
      readonly by: 'key';
      readonly permission?: Permission;
      readonly roles?: readonly Role[];
      readonly plan?: Plan;
    }
  /** The key that a workspace shows in its pages: it stands for the workspace and has no rights of its own. */
  | { readonly by: 'publishable_key'; readonly plan?: Plan }
  /** A token that a partner of a program holds for a few hours: it sees and does what is the partner's own. */
  | { readonly by: 'embed_token'; readonly plan?: Plan };

/** What an actor is known by. */
export type Credential = Exclude<Access['by'], 'nobody'>;

export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The body as it was received, for operations that check a signature over it. */
  readonly bytes: Uint8Array | undefined;
  readonly request: RequestFacts;
}

export interface RequestFacts {
  readonly id: string;
  /** Scheme and host the client used, for addresses in answers. */
  readonly origin: string;
  readonly ip: string;
  /** For operations that ask what a visitor's browser says of itself. */
  readonly header: (name: string) => string | undefined;
  /** Aborted when the client goes away before it has the answer: nobody needs the work any more. */
  readonly signal: AbortSignal;
}

/** An answer that is not JSON. */
export interface Reply {
  readonly contentType: string;
  /** A stream is read as fast as the client takes it, and cancelled when the client goes away. */
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** With an `ETag` among them, a repeat that knows it is answered with 304. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Requests that one client address (to all paths, or to each path by itself), or all keys of a workspace together,
 * may make to an operation in a window.
 */
export interface Throttle {
  readonly limit: number;
  readonly windowMs: number;
  readonly by: 'ip' | 'workspace' | 'ip-and-path';
}

type Schema = z.ZodType;
type Shape = z.ZodObject;
type Out<S> = S extends z.ZodType ? z.output<S> : undefined;

/** What pages of other sites may do. */
export type CorsMethod = 'GET' | 'POST' | 'PATCH';

export interface Definition<
  A extends Access,
  P extends Shape | undefined,
  Q extends Shape | undefined,
  B extends Schema | undefined,
  R extends Schema,
> {
  /** The `operationId`. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Other methods that do the same, kept for older clients and left out of the document. */
  readonly aliases?: readonly ('PUT' | 'PATCH')[];
  readonly path: `/${string}`;
  readonly group: string;
  readonly summary: string;
  readonly description?: string;
  readonly access: A;
  /** Which of the two request windows it counts against. */
  readonly rate?: 'standard' | 'analytics';
  /** By address for operations without a key, which have no other window; by workspace beside that of the key. */
  readonly throttle?: Throttle;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly bodyLimitBytes?: number;
  /** A call without a body counts as `{}`. */
  readonly bodyOptional?: boolean;
  readonly response: {
    readonly status: 200 | 201 | 202;
    readonly schema: R;
    readonly description: string;
    /** Set by `repliesWith` where the answer is not JSON. */
    readonly contentTypes?: readonly string[];
  };
  /** Callable from any web page: the method that cross-origin callers may use. */
  readonly cors?: CorsMethod;
  /** The answer shows a secret once: it is never stored, so a repeat with the same Idempotency-Key is refused. */
  readonly secret?: boolean;
  /** Refusals that do not depend on the input and go before its errors. */
  readonly before?: (actor: ActorOf<A>) => Promise<void>;
  readonly run: (call: Call<Out<P>, Out<Q>, Out<B>>, actor: ActorOf<A>) => Promise<z.input<R>>;
}

type ActorOf<A> = A extends { by: 'nobody' }
  ? undefined
  : A extends { by: 'embed_token' }
    ? PartnerActor
    : Actor;

/** An operation with its types folded away, as the pipeline runs it. */
export interface Operation
  extends Omit<
    Definition<Access, Shape, Shape, Schema, Schema>,
    'before' | 'run' | 'params' | 'query' | 'body'
  > {
  readonly params: Shape | undefined;
  readonly query: Shape | undefined;
  readonly body: Schema | undefined;
  readonly before: ((actor: Actor) => Promise<void>) | undefined;
  readonly run: (call: Call, actor: Actor | undefined) => Promise<unknown>;
}

export function operation<
  const A extends Access,
  P extends Shape | undefined,
  Q extends Shape | undefined,
  B extends Schema | undefined,
  R extends Schema,
>(definition: Definition<A, P, Q, B, R>): Operation {
  return {
    ...definition,
    params: definition.params,
    query: definition.query,
    body: definition.body,
    before: definition.before as Operation['before'],
    run: definition.run as Operation['run'],
  };
}

/** For `response`: the answer has one of these types, and `run` returns it as a `Reply`. */
export function repliesWith(...contentTypes: string[]): { contentTypes: string[]; schema: z.ZodType<Reply> } {
  const isReply = (value: unknown) => contentTypes.includes((value as Reply).contentType);
  return { contentTypes, schema: z.custom<Reply>(isReply, 'must be a reply of a listed type') };
}

export const requires = (
  permission: Permission,
  plan?: Plan,
): { by: 'key'; permission: Permission; plan?: Plan } =>
  plan ? { by: 'key', permission, plan } : { by: 'key', permission };

export function planIncludes(plan: Plan, minimum: Plan): boolean {
  return PLANS.indexOf(plan) >= PLANS.indexOf(minimum);
}

export const idParams = (what: string) =>
  z.object({ id: z.string().min(1).describe(`The id of the ${what}.`) });

export const deletedId = z.object({ id: z.string().describe('The id of what was deleted.') });
