// Reads a script from a file.
import { readFile } from 'node:fs/promises';
import type { ScriptData } from './script.ts';
import { parseScript } from './script-format.ts';

/** Rejects with what is wrong with the file, a line for each mistake, naming its path in the script. */
export async function loadScript(file: string): Promise<ScriptData> {
  let json: string;
  try {
    json = await readFile(file, 'utf8');
  } catch (error) {
    throw new Error(`The script ${file} cannot be read: ${String(error)}`, { cause: error });
  }
  return parseScript(json, file);
}
