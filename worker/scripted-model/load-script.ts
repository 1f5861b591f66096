// Reads a script from a file.
import { readNamedFile, whyUnread } from '../config/read-named-file.ts';
import type { ScriptData } from './script.ts';
import { parseScript } from './script-format.ts';

/** Rejects with what is wrong with the file, a line for each mistake, naming its path in the script. */
export async function loadScript(file: string): Promise<ScriptData> {
  let json: string;
  try {
    json = readNamedFile(file);
  } catch (error) {
    throw new Error(`the script ${file} ${whyUnread(error)}: name another`, { cause: error });
  }
  return parseScript(json, file);
}
