// Reads the version in package.json, which lies next to the sources, and one folder above the built
// files. A program that has this file in a bundle has neither: the client's entry does not lead
// here.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const VERSION = readVersion(['../package.json', '../../package.json']);

function readVersion(places: readonly string[]): string {
  const path = places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((file) => existsSync(file));
  const { version } = JSON.parse(readFileSync(path ?? '', 'utf8')) as { readonly version: string };
  return version;
}
