// The customers of the demo: names that are nobody's, and addresses that lead nowhere.
import type { SeededRandom } from '../kernel/seeded-random.ts';

const FIRST_NAMES =
  'Ada Ben Carla Dev Elena Femi Grace Hugo Ines Jonas Kavya Lucas Mei Noah Olivia Priya Quentin Rosa Sam Tomás Uma Victor Wen Yuki Zoe'.split(
    ' ',
  );
const LAST_NAMES =
  'Abara Berg Costa Dubois Eriksen Fischer Garcia Haddad Ito Jansen Kowalski Lindqvist Moreau Nakamura Okafor Patel Quinn Rossi Silva Tanaka Ueda Varga Weber Young Zhang'.split(
    ' ',
  );
const NAMED_SHARE = 0.92;

export interface Person {
  readonly name: string | null;
  readonly email: string | null;
}

/** Some are known by nothing but their id. */
export function drawPerson(random: SeededRandom, number: number): Person {
  const [first, last] = [random.pick(FIRST_NAMES), random.pick(LAST_NAMES)];
  if (!random.chance(NAMED_SHARE)) return { name: null, email: null };
  const plain = `${first}.${last}`.normalize('NFD').replaceAll(/[^A-Za-z.]/g, '');
  return { name: `${first} ${last}`, email: `${plain.toLowerCase()}.${number}@mail.example` };
}
