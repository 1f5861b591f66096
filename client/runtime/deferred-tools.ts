// Says whether runs of a configuration leave tools of MCP servers out of their requests (L74).
import { countTokens, deferLimit } from '../../tools/deferred-tools.ts';
import { createModels } from '../../models/models.ts';
import { describeDeferral } from '../../tools/find-tools.ts';
import type { ListedTool } from '../../tools/mcp/list-tools.ts';
import { nameServerTool } from '../../tools/mcp/servers.ts';
import { buildDefinition } from '../../tools/registry.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { runDefaults } from '../../worker/config/defaults.ts';

export type ServerList = { readonly server: string; readonly tools: readonly ListedTool[] };

/** Returns a sentence for people; undefined where all tools of the lists are sent. */
export function deferralOf(config: PerdureConfig, lists: readonly ServerList[]): string | undefined {
  const { model = runDefaults.model, models: configured, deferTools } = config;
  const models = createModels({ model, configured });
  const found = models.find(model);
  const { window } = models.facts('name' in found ? found.name : model);
  const definitions = lists.flatMap(({ server, tools }) =>
    tools.map((tool) => buildDefinition({ ...tool, name: nameServerTool(server, tool.name) })),
  );
  const tokens = countTokens(definitions);
  const limit = deferLimit(deferTools, window);
  return limit !== undefined && tokens > limit ? describeDeferral(definitions.length, tokens)[0] : undefined;
}
