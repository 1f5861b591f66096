// The tools of a run by name, and their definitions as the API wants them.
import { z } from 'zod';
import { wellFormed } from '../text.ts';
import type { Tool } from './tool.ts';

export type ToolDefinition = {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly type: 'object'; readonly [key: string]: unknown };
};

export type ToolRegistry = {
  get(name: string): Tool | undefined;
  /** Ordered by name whatever the order of registration, so that the prompt cache stays valid (L22). */
  definitions(): readonly ToolDefinition[];
  /** Of a list that changes (L44). Never throws. */
  refresh?(): Promise<void>;
};

/** What the Messages API accepts as a tool's name. */
export const VALID_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Throws a sentence for a name the API would refuse, a name given twice, a schema that is not an object, and a recovery that the tool
 * does not have.
 */
export function createRegistry(tools: readonly Tool[]): ToolRegistry {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (!VALID_NAME.test(tool.name)) {
      throw new Error(`Tool name ${JSON.stringify(tool.name)} is not valid: use 1 to 64 letters, digits, "_" or "-".`);
    }
    if (byName.has(tool.name)) throw new Error(`Two tools are named "${tool.name}": rename or remove one.`);
    if (tool.recovery === 'verify' && tool.verify === undefined) {
      throw new Error(
        `Tool "${tool.name}" has recovery "verify" and no verify function: give it one, or another recovery.`,
      );
    }
    byName.set(tool.name, tool);
  }
  const definitions = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map(definitionOf);
  return { get: (name) => byName.get(name), definitions: () => definitions };
}

/** Throws a sentence for a schema that JSON cannot say, or that is not an object. */
export function definitionOf(tool: Pick<Tool, 'name' | 'description' | 'inputSchema'>): ToolDefinition {
  const { $schema: _, ...schema } = z.toJSONSchema(tool.inputSchema, { io: 'input' });
  if (schema.type !== 'object') throw new Error(`Tool "${tool.name}" must take an object: its schema is another type.`);
  // A server of tools may say anything, and one lone surrogate makes every request unreadable (L58).
  return wellFormed({ name: tool.name, description: tool.description, input_schema: { ...schema, type: 'object' } });
}
