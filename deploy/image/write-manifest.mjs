// Writes the package.json of what the image installs: the packed package, and its peers in the
// versions that this repository is tested with.
//
//     node write-manifest.mjs PACKAGE_JSON TARBALL > package.json
import { readFileSync } from 'node:fs';

const [manifest = '', tarball = ''] = process.argv.slice(2);
const { version, peerDependencies, devDependencies, dependencies } = JSON.parse(readFileSync(manifest, 'utf8'));
const versionOf = (name) => dependencies[name] ?? devDependencies[name];
const peers = Object.keys(peerDependencies).map((name) => [name, versionOf(name)]);
const missing = peers.filter(([, wanted]) => wanted === undefined).map(([name]) => name);
if (missing.length > 0) throw new Error(`no tested version of ${missing.join(', ')}`);

const image = {
  name: 'perdure-image',
  version,
  private: true,
  type: 'module',
  dependencies: { perdure: `file:${tarball}`, ...Object.fromEntries(peers) },
};
process.stdout.write(`${JSON.stringify(image, null, 2)}\n`);
