// The first import of every entry but the workflows': it names a Node or a Temporal SDK that is too
// old before its gaps cause stranger errors. It imports nothing that an old Node lacks.
import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';

type Manifest = {
  readonly name?: string;
  readonly version: string;
  readonly engines?: { readonly node?: string };
  readonly peerDependencies?: Readonly<Record<string, string>>;
};

/** `commonAt` is the folder of the @temporalio/common that the package uses. */
type InstalledPeer = { readonly name: string; readonly version: string; readonly commonAt: string | null };

const COMMON = '@temporalio/common';

/**
 * Returns why this Node cannot run Perdure; undefined when it can. `wanted` is written as in
 * `engines`: `>=20.19`.
 */
export function nodeProblem(version: string, wanted: string): string | undefined {
  const [major = 0, minor = 0] = numbersIn(version);
  const [atLeast = 0, andMinor = 0] = numbersIn(wanted);
  if (major > atLeast || (major === atLeast && minor >= andMinor)) return undefined;
  return `it needs Node ${atLeast}.${andMinor} or newer, and this is Node ${version}: use a newer Node`;
}

/** Returns undefined when all peers will do. `wanted` holds a range like `^1.24.0` for each. */
export function peersProblem(
  peers: readonly InstalledPeer[],
  wanted: Readonly<Record<string, string>>,
): string | undefined {
  for (const { name, version } of peers) {
    const range = wanted[name];
    if (range === undefined || isInRange(version, range)) continue;
    return `it needs ${name} ${range}, and ${version} is installed: npm install ${name}@${range}`;
  }
  const [first, ...others] = peers.filter(({ commonAt }) => commonAt !== null);
  const other = others.find(({ commonAt }) => commonAt !== first?.commonAt);
  if (first === undefined || other === undefined) return undefined;
  const places = `${first.name} uses ${first.commonAt}, ${other.name} ${other.commonAt}`;
  return `${COMMON} is there twice: ${places}; install all @temporalio packages in one version (\`npm ls ${COMMON}\`)`;
}

const numbersIn = (version: string): number[] => (version.match(/\d+/g) ?? []).map(Number);

function isInRange(version: string, range: string): boolean {
  const [major = 0, minor = 0, patch = 0] = numbersIn(version);
  const [wanted = 0, least = 0, andPatch = 0] = numbersIn(range);
  return major === wanted && (minor > least || (minor === least && patch >= andPatch));
}

function readManifest(path: string | URL): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
}

/** Leaves out missing packages: Node itself names those when they are imported. */
function findInstalledPeers(names: readonly string[]): InstalledPeer[] {
  const own = createRequire(import.meta.url);
  return names.flatMap((name) => {
    const path = findManifest(own, name);
    if (path === null) return [];
    const commonAt = name === COMMON ? path : findManifest(createRequire(path), COMMON);
    return [{ name, version: readManifest(path).version, commonAt }];
  });
}

function findManifest(from: NodeJS.Require, name: string): string | null {
  try {
    return realpathSync(from.resolve(`${name}/package.json`));
  } catch {
    return null;
  }
}

/** Returns null in a bundle, which holds the packages it was built with. */
function ownManifest(): Manifest | null {
  const here = import.meta.url as string | undefined;
  try {
    const root = here?.endsWith('.ts') ? '../../package.json' : '../../../package.json';
    const found = readManifest(new URL(root, here));
    return found.name === 'perdure' ? found : null;
  } catch {
    return null;
  }
}

function refuseUnsupported(): void {
  const own = ownManifest();
  if (own === null) return;
  const { version, engines, peerDependencies = {} } = own;
  const peers = Object.keys(peerDependencies).filter((name) => name.startsWith('@temporalio/'));
  const problem =
    nodeProblem(process.versions.node, engines?.node ?? '>=0.0') ??
    peersProblem(findInstalledPeers(peers), peerDependencies);
  if (problem !== undefined) throw new Error(`perdure ${version} cannot run here: ${problem}`);
}

refuseUnsupported();
