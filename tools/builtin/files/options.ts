// The options of the built-in tools, given once per worker.
import type { AgentSettings } from '../../agent-types.ts';
import type { Network } from '../../../system/network.ts';
import type { BackgroundCommands } from '../../../system/process/background-files.ts';
import type { PreparedSandboxes } from '../../../system/process/prepared-sandboxes.ts';
import type { AttachedFiles } from './attached-files.ts';
import type { OpenMemoryStore } from './memory-folders.ts';
import type { SkillArchives } from './skill-folders.ts';
import type { Mounts } from './mounts.ts';
import type { Sandbox } from '../../sandbox.ts';
import type { SkillSettings } from '../../skill-settings.ts';

export const KEY_AGENTS = ['ssh', 'gpg'] as const;
export type KeyAgent = (typeof KEY_AGENTS)[number];

export type BuiltinOptions = {
  readonly sandbox: Sandbox;
  /** Perdure's own data: no tool reaches it. */
  readonly dataDir?: string;
  /** Commands have no network, and no pages are fetched. Absent: both have the machine's. */
  readonly offline?: boolean;
  /** Environment variables that shell commands get in addition to the ordinary ones. */
  readonly passEnv?: readonly string[];
  /** Agents for keys that commands may reach. Absent: none. */
  readonly keyAgents?: readonly KeyAgent[];
  /** Sockets of services that commands may reach, by absolute path. Absent: none. */
  readonly sockets?: readonly string[];
  /** Files that are attached to sessions (G66). Absent: none are. */
  readonly attached?: AttachedFiles;
  /** Absent: the built-in types and limits. */
  readonly agents?: AgentSettings;
  /** Absent: no command goes on in the background. */
  readonly background?: BackgroundCommands;
  /** Absent: each command has a sandbox that is built for it. */
  readonly prepared?: PreparedSandboxes | undefined;
  /** Absent: the run has no skills, and no tool for them. */
  readonly skills?: SkillSettings;
  /** Absent: pages of the public internet alone. */
  readonly web?: WebSettings;
  /** Folders below /mnt of the session whose tools these are. Absent: it has none. */
  readonly mounts?: Mounts;
  /** The memory stores whose folders are among them. Absent: the folders stay as they are. */
  readonly openMemoryStore?: OpenMemoryStore;
  /** The skills whose folders are among them. Absent: no such folder is laid. */
  readonly uploadedSkills?: SkillArchives;
  /** Absent: Node's own way to reach others. */
  readonly network?: Network | undefined;
};

export type WebSettings = {
  /**
   * Hosts whose addresses may be those of this machine or a private network: names or addresses,
   * where `*` stands for any characters.
   */
  readonly privateHosts?: readonly string[];
  /**
   * Private ranges such as `198.18.0.0/15` that names may lead to: a tunnel on this machine stands
   * for the internet there.
   */
  readonly fakeIpRanges?: readonly string[];
  /**
   * When a page answers that it wants credentials (401): the model is told, or the run ends (L34).
   * Absent: `tell`.
   */
  readonly missingCredentials?: 'tell' | 'end';
};
