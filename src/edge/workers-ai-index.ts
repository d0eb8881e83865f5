import { embeddingsStub } from '../catalogue/stub.ts'
import { ConfigError } from '../contract/config.ts'
import type { Embed } from '../contract/embedding.ts'
import { isObject } from '../contract/json.ts'
import { createFusedIndex } from '../search/fused-index.ts'
import { growingVectors } from '../search/growing-vectors.ts'
import { createKeywordIndex } from '../search/keyword-index.ts'
import { createSemanticIndex } from '../search/semantic-index.ts'
import { storedEmbeddings } from '../search/stored-embeddings.ts'
import type { ToolIndex } from '../search/tool-index.ts'
import { type VectorizeBinding, vectorizeVectors } from '../search/vectors.ts'
import type { Env } from './env.ts'

export interface WorkersAiIndexOptions {
  /** A model for embeddings. Default: `@cf/baai/bge-m3`, which knows more than 100 languages. */
  readonly model?: string
}

/** How many tools are read at once; 1,000 vectors of 1,024 bytes are far below the 32 MiB of one RPC answer. */
const BATCH = 960

/**
 * Makes an index that finds tools by words and by meaning, in any language, with a model of Workers AI (binding `AI`).
 * A text is embedded once: its vector is kept in the catalogue (`CATALOG`), if the edge has one. Above 20,000 tools the
 * vectors are in Vectorize, if there is a binding `VECTORS`.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, search: toolSearch({ index: workersAiIndex() }) })
 */
export function workersAiIndex({ model = '@cf/baai/bge-m3' }: WorkersAiIndexOptions = {}): (env: Env) => ToolIndex {
  return ({ AI: ai, CATALOG: catalogues, VECTORS: vectorize }) => {
    if (!isEmbedder(ai)) throw new ConfigError('AI', 'a binding to Workers AI')
    const embed = embedWith(ai, model)
    const service = catalogues && embeddingsStub(catalogues)
    const vectors =
      service && isVectorize(vectorize)
        ? growingVectors({ large: vectorizeVectors(vectorize, 'tools'), service, name: `${model} in Vectorize` })
        : undefined
    const semantic = createSemanticIndex({
      embed,
      ...(service && { embedTools: storedEmbeddings({ model, embed, service }), batch: BATCH }),
      ...(vectors && { vectors }),
    })
    return createFusedIndex(createKeywordIndex(), semantic)
  }
}

interface EmbedderBinding {
  run(model: string, inputs: { readonly text: readonly string[] }): Promise<unknown>
}

/** Returns the embedder of a model. Rejects for an answer without vectors. */
function embedWith(ai: EmbedderBinding, model: string): Embed {
  return async (texts) => {
    const answer = await ai.run(model, { text: texts })
    const vectors: unknown = isObject(answer) ? answer['data'] : undefined
    if (Array.isArray(vectors) && vectors.every(isVector)) return vectors
    throw new TypeError(`The model ${model} answered without vectors`)
  }
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((number) => typeof number === 'number')
}

function isEmbedder(binding: unknown): binding is EmbedderBinding {
  return isObject(binding) && typeof binding['run'] === 'function'
}

function isVectorize(binding: unknown): binding is VectorizeBinding {
  return isObject(binding) && typeof binding['query'] === 'function'
}
