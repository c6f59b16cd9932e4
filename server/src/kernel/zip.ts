// Files packed into one, a piece at a time: at no moment is more than a piece of a file in memory.
import { strToU8, Zip, ZipDeflate } from 'fflate';

export interface ZipEntry {
  readonly name: string;
  readonly text: Iterable<string>;
}

export async function* zipFiles(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Uint8Array> {
  let packed: Uint8Array[] = [];
  let failure: Error | undefined;
  const zip = new Zip((error, data) => {
    if (error) failure = error;
    else packed.push(data);
  });
  const take = () => {
    if (failure) throw failure;
    const taken = packed;
    packed = [];
    return taken;
  };
  for await (const { name, text } of entries) {
    const file = new ZipDeflate(name);
    zip.add(file);
    for (const piece of text) {
      file.push(strToU8(piece));
      yield* take();
    }
    file.push(new Uint8Array(), true);
    yield* take();
  }
  zip.end();
  yield* take();
}
