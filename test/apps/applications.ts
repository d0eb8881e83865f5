import { join } from 'node:path'
import type { Question } from './model.ts'
import type { Call, Hands } from './scenarios.ts'

const MODULES = new URL('node_modules/', import.meta.url).pathname

/** How an application is run. */
export interface Runnable {
  /** Its name for `edgecall connect`. */
  readonly name: string
  /** The model of the edge that it asks for. The part before the slash is the protocol of the model itself. */
  readonly model: string
  readonly command: (prompt: string, turn: number) => readonly string[]
  /** The prompt that has it compact its history, or the words of the command that have it do so by itself. */
  readonly compaction?: string | readonly string[]
  /** The command that gives it an MCP server at `$URL/mcp`, where its files cannot name the variable of the key. */
  readonly addServer?: readonly string[]
  /** A file of the home folder that is written in place of the one of `edgecall connect`, with `$URL` as in `env`. */
  readonly file?: { readonly path: string; readonly text: string }
  /** Beside what `edgecall connect` says, or in its place. `$URL` is the address of the edge. */
  readonly env?: Readonly<Record<string, string>>
  readonly hands: (folder: string) => Hands
}

const script = (path: string): readonly string[] => [process.execPath, join(MODULES, path)]
const program = (path: string): readonly string[] => [join(MODULES, path)]

function claudeCode(folder: string, model: string): Runnable {
  return {
    name: 'claude-code',
    model,
    command: (prompt, turn) => [
      ...program(`${folder}/bin/claude.exe`),
      ...(turn > 0 ? ['--continue'] : []),
      '--dangerously-skip-permissions',
      '-p',
      prompt,
    ],
    compaction: '/compact',
    // It refuses to skip permissions as root elsewhere.
    env: { IS_SANDBOX: '1' },
    hands: (project) => ({
      write: (path, content) => ({ tool: 'Write', arguments: { file_path: join(project, path), content } }),
      edit: ({ path, from, to }) => ({
        tool: 'Edit',
        arguments: { file_path: join(project, path), old_string: from, new_string: to },
      }),
      shell: (command) => ({ tool: 'Bash', arguments: { command, description: 'Run it' } }),
      agent: (prompt) => [
        () => ({
          tool: 'Agent',
          arguments: { description: 'Count', prompt, subagent_type: 'general-purpose' },
        }),
      ],
      mcp: (tool, args, { tools }) =>
        tools.includes(`mcp__edgecall__${tool}`)
          ? { tool: `mcp__edgecall__${tool}`, arguments: args }
          : { tool: 'ToolSearch', arguments: { query: `select:mcp__edgecall__${tool}`, max_results: 5 } },
    }),
  }
}

function codex(model: string): Runnable {
  return {
    name: 'codex',
    model,
    command: (prompt, turn) => [
      ...script('@openai/codex/bin/codex.js'),
      'exec',
      ...(turn > 0 ? ['resume', '--last'] : []),
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      prompt,
    ],
    compaction: ['-c', 'model_auto_compact_token_limit=100'],
    hands: () => ({
      write: (path, text, question) => {
        const lines = text.trimEnd().split('\n')
        return patch(question, [`*** Add File: ${path}`, ...lines.map((line) => `+${line}`)])
      },
      edit: ({ path, from, to }, question) => patch(question, [`*** Update File: ${path}`, '@@', `-${from}`, `+${to}`]),
      shell: (cmd, question) => nested(question, 'exec_command', { cmd }),
      agent: (prompt) => [
        ({ tools }) => {
          const tool = tools.find((name) => name.endsWith('spawn_agent'))
          if (tool === undefined) return { tool: 'search_tools', arguments: { query: 'spawn_agent wait_agent' } }
          return {
            tool,
            arguments: { message: prompt, ...(tool.startsWith('collaboration') && { task_name: 'counter' }) },
          }
        },
        ({ tools }, last) => {
          const targets = [/[0-9a-f]{8}-[0-9a-f-]{27}/.exec(last)?.[0]]
          const tool = tools.find((name) => name.endsWith('wait_agent')) ?? 'wait_agent'
          return { tool, arguments: tool.startsWith('collaboration') ? {} : { targets } }
        },
      ],
      mcp: (tool, args, question) => {
        const name = `mcp__edgecall__${tool}`
        const isHidden = question.tools.includes('search_tools') && !question.tools.includes(name)
        return isHidden
          ? { tool: 'search_tools', arguments: { query: `edgecall ${tool}` } }
          : nested(question, name, args)
      },
    }),
  }
}

/** A call of a tool of Codex, which models of some names make in a program. */
function nested({ tools }: Question, tool: string, input: object | string): Call {
  const code = `text(await tools.${tool}(${JSON.stringify(input)}))`
  if (!tools.includes(tool) && tools.includes('exec')) return { tool: 'exec', arguments: { input: code } }
  return { tool, arguments: typeof input === 'string' ? { input } : input }
}

function patch(question: Question, lines: readonly string[]): Call {
  const text = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
  const isTool = question.tools.includes('apply_patch') || question.tools.includes('exec')
  if (isTool) return nested(question, 'apply_patch', text)
  return nested(question, 'exec_command', { cmd: `apply_patch <<'EOF'\n${text}\nEOF` })
}

function copilot(more: Readonly<Record<string, string>>): Runnable {
  return {
    name: 'copilot-cli',
    model: 'openai/scripted',
    command: (prompt, turn) => [
      ...program('@github/copilot-linux-x64/copilot'),
      ...(turn > 0 ? ['--continue'] : []),
      '--allow-all-tools',
      '--allow-all-paths',
      '-p',
      prompt,
    ],
    compaction: '/compact',
    env: { COPILOT_OFFLINE: 'true', ...more },
    hands: (project) => ({
      write: (path, text) => ({ tool: 'create', arguments: { path: join(project, path), file_text: text } }),
      edit: ({ path, from, to }) => ({
        tool: 'edit',
        arguments: { path: join(project, path), old_str: from, new_str: to },
      }),
      shell: (command) => ({ tool: 'bash', arguments: { command, description: 'Run it' } }),
      agent: (prompt) => [
        () => ({
          tool: 'task',
          arguments: { name: 'counter', description: 'Count', prompt, agent_type: 'general-purpose' },
        }),
      ],
      mcp: (tool, args) => ({ tool: `edgecall-${tool}`, arguments: args }),
    }),
  }
}

/** opencode, and Kilo, which is made of it. */
function opencode(name: string, path: string): Runnable {
  return {
    name,
    model: 'openai/scripted',
    command: (prompt, turn) => [...program(path), 'run', ...(turn > 0 ? ['--continue'] : []), '--auto', prompt],
    hands: (project) => ({
      write: (file, content) => ({ tool: 'write', arguments: { filePath: join(project, file), content } }),
      edit: ({ path: file, from, to }) => ({
        tool: 'edit',
        arguments: { filePath: join(project, file), oldString: from, newString: to },
      }),
      shell: (command) => ({ tool: 'bash', arguments: { command, description: 'Run it' } }),
      agent: (prompt) => [
        () => ({ tool: 'task', arguments: { description: 'Count', prompt, subagent_type: 'general' } }),
      ],
      mcp: (tool, args) => ({ tool: `edgecall_${tool}`, arguments: args }),
    }),
  }
}

const pi: Runnable = {
  name: 'pi',
  model: 'openai/scripted',
  command: (prompt, turn) => [
    ...script('@earendil-works/pi-coding-agent/dist/bundle/cli.js'),
    ...(turn > 0 ? ['--continue'] : []),
    '-p',
    prompt,
  ],
  compaction: '/compact',
  hands: () => ({
    write: (path, content) => ({ tool: 'write', arguments: { path, content } }),
    edit: ({ path, from, to }) => ({ tool: 'edit', arguments: { path, edits: [{ oldText: from, newText: to }] } }),
    shell: (command) => ({ tool: 'bash', arguments: { command } }),
    mcp: (tool, args) => ({ tool: `mcp__edgecall__${tool}`, arguments: args }),
  }),
}

const qwenCode: Runnable = {
  name: 'qwen-code',
  model: 'openai/scripted',
  command: (prompt, turn) => [
    ...script('@qwen-code/qwen-code/cli-entry.js'),
    ...(turn > 0 ? ['--continue'] : []),
    '--yolo',
    '-p',
    prompt,
  ],
  compaction: '/compress',
  hands: (project) => ({
    write: (path, content) => ({ tool: 'write_file', arguments: { file_path: join(project, path), content } }),
    edit: ({ path, from, to }) => ({
      tool: 'edit',
      arguments: { file_path: join(project, path), old_string: from, new_string: to },
    }),
    shell: (command) => ({ tool: 'run_shell_command', arguments: { command, is_background: false } }),
    agent: (prompt) => [
      () => ({
        tool: 'agent',
        arguments: { description: 'Count', prompt, subagent_type: 'general-purpose' },
      }),
    ],
    mcp: (tool, args) => ({
      tool: 'tool_call',
      arguments: { name: `mcp__edgecall__${tool}`, arguments: args },
    }),
  }),
}

const continueCli: Runnable = {
  name: 'continue',
  model: 'openai/scripted',
  command: (prompt, turn) => [
    ...script('@continuedev/cli/dist/cn.js'),
    '--config',
    '../home/.continue/agents/edgecall.yaml',
    ...(turn > 0 ? ['--resume'] : []),
    '--auto',
    '-p',
    prompt,
  ],
  hands: (project) => ({
    write: (path, content) => ({ tool: 'Write', arguments: { filepath: join(project, path), content } }),
    // It edits only what the model has read.
    edit: ({ path, from, to }, { turns }) =>
      turns.at(-2)?.calls[0] === 'Read'
        ? { tool: 'Edit', arguments: { file_path: join(project, path), old_string: from, new_string: to } }
        : { tool: 'Read', arguments: { filepath: join(project, path) } },
    shell: (command) => ({ tool: 'Bash', arguments: { command } }),
    mcp: (tool, args) => ({ tool, arguments: args }),
  }),
}

function cline(file?: Runnable['file']): Runnable {
  return {
    name: 'cline',
    model: 'openai/scripted',
    command: (prompt) => [...program('@cline/cli-linux-x64/bin/cline'), '--key', '$EDGECALL_KEY', prompt],
    ...(file && { file }),
    addServer: [
      ...program('@cline/cli-linux-x64/bin/cline'),
      ...['mcp', 'add', 'edgecall', '$URL/mcp', '--transport', 'http'],
      ...['--header', 'Authorization: Bearer $EDGECALL_KEY', '--yes'],
    ],
    hands: (project) => ({
      write: (path, text) => ({
        tool: 'editor',
        arguments: { command: 'create', path: join(project, path), file_text: text, new_text: text },
      }),
      edit: ({ path, from, to }) => ({
        tool: 'editor',
        arguments: { command: 'str_replace', path: join(project, path), old_text: from, new_text: to },
      }),
      shell: (command) => ({ tool: 'run_commands', arguments: { commands: [command] } }),
      agent: (prompt) => [() => ({ tool: 'spawn_agent', arguments: { systemPrompt: 'You count.', task: prompt } })],
      mcp: (tool, args) => ({ tool: `edgecall__${tool}`, arguments: args }),
    }),
  }
}

/** The rows of the table. */
export const ROWS = {
  'Claude Code, Chat model': claudeCode('@anthropic-ai/claude-code', 'openai/scripted'),
  'Claude Code, Messages model': claudeCode('@anthropic-ai/claude-code', 'anthropic/scripted'),
  'Claude Code, the version before': claudeCode('claude-code-before', 'openai/scripted'),
  'Codex, Chat model': codex('openai/scripted'),
  'Codex, Responses model': codex('responses/scripted'),
  'Codex, gpt-5.5 of its list': codex('gpt-5.5'),
  'Codex, gpt-6.2-sol of its list': codex('gpt-6.2-sol'),
  'Copilot CLI, Chat Completions': copilot({}),
  'Copilot CLI, Responses': copilot({ COPILOT_PROVIDER_WIRE_API: 'responses' }),
  'Copilot CLI, Messages': copilot({ COPILOT_PROVIDER_TYPE: 'anthropic', COPILOT_PROVIDER_BASE_URL: '$URL' }),
  opencode: opencode('opencode', 'opencode-linux-x64/bin/opencode'),
  pi,
  'Qwen Code': qwenCode,
  Continue: continueCli,
  Kilo: opencode('kilo', '@kilocode/cli-linux-x64/bin/kilo'),
  'Cline, OpenAI provider': cline(),
  'Cline, Anthropic provider': cline({
    path: '.cline/data/settings/providers.json',
    text: JSON.stringify({
      version: 1,
      lastUsedProvider: 'anthropic',
      modes: {},
      providers: {
        anthropic: {
          settings: { provider: 'anthropic', model: 'openai/scripted', baseUrl: '$URL/v1' },
          updatedAt: '2026-01-01T00:00:00.000Z',
          tokenSource: 'manual',
        },
      },
    }),
  }),
} satisfies Readonly<Record<string, Runnable>>
