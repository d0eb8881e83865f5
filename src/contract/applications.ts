/** The variable of a person's shell that holds the key. What is written anywhere names the variable, never the key. */
export const KEY_VARIABLE = 'EDGECALL_KEY'

/** The edge that an application is connected with. */
export interface EdgeTarget {
  /** Without a slash at the end. */
  readonly url: string
  /** The model that the application asks for, as `provider/name`. */
  readonly model: string
}

/** What a file must hold beside what it holds already: an object in the format of its extension. */
export interface FileSetting {
  /** Begins with `~/` in the home folder of a person, else it is relative to the project. */
  readonly path: string
  readonly content: Readonly<Record<string, unknown>>
}

/** What connects an application. */
export interface Connection {
  readonly files?: readonly FileSetting[]
  /** Variables of the environment, as a shell writes them: `"$EDGECALL_KEY"` stands for the key. */
  readonly variables?: Readonly<Record<string, string>>
  /** Code of a program. */
  readonly code?: string
  /** What else a person does or must know, in sentences. */
  readonly note?: string
}

/** An application that people use with an edge. */
export interface Application {
  readonly title: string
  /** The API of the edge that it speaks. */
  readonly speaks?: 'Messages' | 'Responses' | 'Chat Completions'
  /** Has it ask the edge for answers; the edge offers its tools to the model. Without it, the application cannot. */
  readonly model?: (target: EdgeTarget) => Connection
  /** Gives it the tools of the edge by MCP, beside a model of its own. Without it, the application cannot. */
  readonly tools?: (target: Pick<EdgeTarget, 'url'>) => Connection
  /** Starts it with the model of the edge, in a shell. */
  readonly start?: string
}

/** The name of the edge in the files of applications. */
const NAME = 'edgecall'
const KEY = `"$${KEY_VARIABLE}"`

/** An MCP server as most applications write it, with the variable as they write it. */
function mcpServer(url: string, variable: string, more: object = {}): Readonly<Record<string, unknown>> {
  return { [NAME]: { ...more, url: `${url}/mcp`, headers: { Authorization: `Bearer ${variable}` } } }
}

/** What opencode and its relatives read. */
function opencodeModel({ url, model }: EdgeTarget): FileSetting['content'] {
  return {
    model: `${NAME}/${model}`,
    provider: {
      [NAME]: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Edgecall',
        options: { baseURL: `${url}/v1`, apiKey: `{env:${KEY_VARIABLE}}` },
        models: { [model]: { name: model } },
      },
    },
  }
}

function opencodeTools({ url }: Pick<EdgeTarget, 'url'>): FileSetting['content'] {
  return { mcp: mcpServer(url, `{env:${KEY_VARIABLE}}`, { type: 'remote', oauth: false }) }
}

/** What Continue reads of an agent. */
function continueAgent(content: FileSetting['content']): FileSetting {
  return {
    path: '~/.continue/agents/edgecall.yaml',
    content: { name: 'Edgecall', version: '1.0.0', schema: 'v1', ...content },
  }
}

/** The applications, by the name that the command line has for them. */
export const APPLICATIONS = {
  'claude-code': {
    title: 'Claude Code',
    speaks: 'Messages',
    model: ({ url, model }) => ({
      files: [
        {
          path: '~/.claude/settings.json',
          content: {
            apiKeyHelper: `printenv ${KEY_VARIABLE}`,
            env: {
              ANTHROPIC_BASE_URL: url,
              ANTHROPIC_MODEL: model,
              ANTHROPIC_DEFAULT_OPUS_MODEL: model,
              ANTHROPIC_DEFAULT_SONNET_MODEL: model,
              ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
            },
          },
        },
      ],
      note: 'Titles and summaries are asked of the model for Haiku: name a cheaper one there if the edge has one.',
    }),
    tools: ({ url }) => ({
      files: [
        { path: '~/.claude.json', content: { mcpServers: mcpServer(url, `\${${KEY_VARIABLE}}`, { type: 'http' }) } },
      ],
    }),
    start: 'claude',
  },
  codex: {
    title: 'Codex',
    speaks: 'Responses',
    model: ({ url, model }) => ({
      files: [
        {
          path: '~/.codex/config.toml',
          content: {
            model,
            model_provider: NAME,
            model_providers: {
              [NAME]: { name: 'Edgecall', base_url: `${url}/v1`, env_key: KEY_VARIABLE, wire_api: 'responses' },
            },
          },
        },
      ],
    }),
    tools: ({ url }) => ({
      files: [
        {
          path: '~/.codex/config.toml',
          content: { mcp_servers: { [NAME]: { url: `${url}/mcp`, bearer_token_env_var: KEY_VARIABLE } } },
        },
      ],
    }),
    start: 'codex',
  },
  'copilot-cli': {
    title: 'GitHub Copilot CLI',
    speaks: 'Chat Completions',
    model: ({ url, model }) => ({
      variables: {
        COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
        COPILOT_PROVIDER_BEARER_TOKEN: KEY,
        COPILOT_MODEL: model,
      },
      note:
        'For the Responses API, add COPILOT_PROVIDER_WIRE_API=responses. For the Messages API, set COPILOT_PROVIDER_TYPE=anthropic ' +
        `and COPILOT_PROVIDER_BASE_URL=${url}.`,
    }),
    tools: ({ url }) => ({
      files: [
        {
          path: '~/.copilot/mcp-config.json',
          content: { mcpServers: mcpServer(url, `\${${KEY_VARIABLE}}`, { type: 'http', tools: ['*'] }) },
        },
      ],
    }),
    start: 'copilot',
  },
  opencode: {
    title: 'opencode',
    speaks: 'Chat Completions',
    model: (target) => ({ files: [{ path: '~/.config/opencode/opencode.json', content: opencodeModel(target) }] }),
    tools: (target) => ({ files: [{ path: '~/.config/opencode/opencode.json', content: opencodeTools(target) }] }),
    start: 'opencode',
  },
  kilo: {
    title: 'Kilo CLI',
    speaks: 'Chat Completions',
    model: (target) => ({ files: [{ path: '~/.config/kilo/kilo.json', content: opencodeModel(target) }] }),
    tools: (target) => ({ files: [{ path: '~/.config/kilo/kilo.json', content: opencodeTools(target) }] }),
    start: 'kilo',
  },
  pi: {
    title: 'pi',
    speaks: 'Chat Completions',
    model: ({ url, model }) => ({
      files: [
        {
          path: '~/.pi/agent/models.json',
          content: {
            providers: {
              [NAME]: {
                baseUrl: `${url}/v1`,
                api: 'openai-completions',
                apiKey: `$${KEY_VARIABLE}`,
                models: [{ id: model }],
              },
            },
          },
        },
        { path: '~/.pi/agent/settings.json', content: { defaultProvider: NAME, defaultModel: model } },
      ],
    }),
    tools: ({ url }) => ({
      files: [
        {
          path: '~/.pi/agent/mcp.json',
          content: { mcpServers: mcpServer(url, `\${${KEY_VARIABLE}}`, { exposure: 'direct' }) },
        },
      ],
    }),
    start: 'pi',
  },
  'qwen-code': {
    title: 'Qwen Code',
    speaks: 'Chat Completions',
    model: ({ url, model }) => ({
      files: [
        {
          path: '~/.qwen/settings.json',
          content: {
            modelProviders: { openai: [{ id: model, name: model, baseUrl: `${url}/v1`, envKey: KEY_VARIABLE }] },
            security: { auth: { selectedType: 'openai' } },
            model: { name: model },
          },
        },
      ],
    }),
    tools: ({ url }) => ({
      files: [
        {
          path: '~/.qwen/settings.json',
          content: {
            mcpServers: {
              [NAME]: { httpUrl: `${url}/mcp`, headers: { Authorization: `Bearer \${${KEY_VARIABLE}}` } },
            },
          },
        },
      ],
    }),
    start: 'qwen',
  },
  continue: {
    title: 'Continue',
    speaks: 'Chat Completions',
    model: ({ url, model }) => ({
      files: [
        continueAgent({
          models: [
            {
              name: model,
              provider: 'openai',
              model,
              apiBase: `${url}/v1`,
              apiKey: `\${{ secrets.${KEY_VARIABLE} }}`,
              roles: ['chat', 'edit', 'apply'],
              capabilities: ['tool_use'],
            },
          ],
        }),
      ],
    }),
    tools: ({ url }) => ({
      files: [
        continueAgent({
          mcpServers: [
            {
              name: NAME,
              type: 'streamable-http',
              url: `${url}/mcp`,
              apiKey: `\${{ secrets.${KEY_VARIABLE} }}`,
            },
          ],
        }),
      ],
    }),
    start: 'cn --config ~/.continue/agents/edgecall.yaml',
  },
  cline: {
    title: 'Cline CLI',
    speaks: 'Chat Completions',
    model: ({ url, model }) => ({
      files: [
        {
          path: '~/.cline/data/settings/providers.json',
          content: {
            version: 1,
            lastUsedProvider: 'openai-compatible',
            modes: {},
            providers: {
              'openai-compatible': {
                settings: { provider: 'openai-compatible', model, baseUrl: `${url}/v1` },
                updatedAt: '2026-01-01T00:00:00.000Z',
                tokenSource: 'manual',
              },
            },
          },
        },
      ],
    }),
    tools: ({ url }) => ({
      note:
        'Its files cannot name a variable, so that Cline stores the key itself: ' +
        `cline mcp add ${NAME} ${url}/mcp --transport http --header "Authorization: Bearer $${KEY_VARIABLE}" --yes`,
    }),
    start: `cline --key ${KEY}`,
  },
  cursor: {
    title: 'Cursor',
    model: ({ url }) => ({
      note:
        `In Cursor’s settings, under Models, set “Override OpenAI Base URL” to ${url}/v1 and the OpenAI key to a key of the edge. ` +
        'Cursor asks from servers of its own, so that the edge must be deployed.',
    }),
    tools: ({ url }) => ({
      files: [{ path: '~/.cursor/mcp.json', content: { mcpServers: mcpServer(url, `\${env:${KEY_VARIABLE}}`) } }],
    }),
  },
  vscode: {
    title: 'VS Code',
    model: ({ url }) => ({
      note:
        'In the chat, choose “Manage Models”, then a custom endpoint for an OpenAI-compatible API, with the address ' +
        `${url}/v1/chat/completions and a key of the edge.`,
    }),
    tools: ({ url }) => ({
      files: [
        {
          path: '.vscode/mcp.json',
          content: {
            servers: mcpServer(url, `\${input:${NAME}-key}`, { type: 'http' }),
            inputs: [{ id: `${NAME}-key`, type: 'promptString', description: 'Key of the edge', password: true }],
          },
        },
      ],
      note: 'VS Code asks for the key once and stores it among its secrets.',
    }),
  },
  'ai-sdk': {
    title: 'AI SDK',
    speaks: 'Chat Completions',
    model: ({ url, model }) => ({
      code: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'

const edge = createOpenAICompatible({
  name: '${NAME}',
  baseURL: '${url}/v1',
  apiKey: process.env.${KEY_VARIABLE},
})
const model = edge('${model}')
`,
    }),
    tools: ({ url }) => ({
      code: `import { createMCPClient } from '@ai-sdk/mcp'

const headers = { Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\` }
const client = await createMCPClient({ transport: { type: 'http', url: '${url}/mcp', headers } })
const tools = await client.tools()
`,
    }),
  },
  'openai-sdk': {
    title: 'OpenAI’s SDKs',
    speaks: 'Responses',
    model: ({ url, model }) => ({
      variables: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: KEY },
      code: `import OpenAI from 'openai'

const response = await new OpenAI().responses.create({ model: '${model}', input: 'Hello' })
`,
    }),
  },
  'anthropic-sdk': {
    title: 'Anthropic’s SDKs',
    speaks: 'Messages',
    model: ({ url, model }) => ({
      variables: { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: KEY },
      code: `import Anthropic from '@anthropic-ai/sdk'

const messages = [{ role: 'user' as const, content: 'Hello' }]
const message = await new Anthropic().messages.create({ model: '${model}', max_tokens: 1024, messages })
`,
    }),
  },
} satisfies Readonly<Record<string, Application>>
