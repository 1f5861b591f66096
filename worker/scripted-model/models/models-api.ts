// The answers of the Models API: what the documents say of a model, or the limits the server was started with.
type ModelLimits = { readonly window: number | undefined; readonly maxOutputTokens: number | undefined };

const WINDOW = 200_000;
const MOST_OUTPUT = 64_000;

export function modelInfo(id: string, limits: ModelLimits): object {
  return {
    type: 'model',
    id,
    display_name: `${id} (scripted)`,
    created_at: '1970-01-01T00:00:00Z',
    max_input_tokens: limits.window ?? WINDOW,
    max_tokens: limits.maxOutputTokens ?? MOST_OUTPUT,
  };
}
