import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { toolList } from '../tool/catalogue.ts'
import { chosenTools, contextFault, contextText, model, models, system } from './settings.ts'

/** The fields that say what a question is asked with. */
export function QuestionFields(): JSX.Element {
  const id = useId()
  return (
    <div class="options stack2">
      <ModelField />
      <label class="field">
        <span class="label">System text</span>
        <textarea
          rows={2}
          value={system.value}
          placeholder="The edge’s own"
          onInput={(event) => (system.value = event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span class="label">Tool context, which no model sees</span>
        <textarea
          class="code"
          rows={2}
          value={contextText.value}
          placeholder={'{ "tenantId": "acme" }'}
          spellcheck={false}
          aria-invalid={contextFault.value !== ''}
          aria-describedby={`${id}-fault`}
          onInput={(event) => (contextText.value = event.currentTarget.value)}
        />
      </label>
      <p id={`${id}-fault`} class="fault" aria-live="polite">
        {contextFault.value}
      </p>
      <ToolChoice />
    </div>
  )
}

/** The model that is asked, by default the edge's. */
export function ModelField(): JSX.Element {
  return (
    <label class="field">
      <span class="label">Model</span>
      <select value={model.value} onChange={(event) => (model.value = event.currentTarget.value)}>
        <option value="">The edge’s default</option>
        {models.value.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function ToolChoice(): JSX.Element {
  const wanted = useSignal('')
  const chosen = chosenTools.value
  const toggle = (name: string, isOn: boolean) => {
    const others = (chosen ?? []).filter((each) => each !== name)
    chosenTools.value = isOn ? [...others, name] : others
  }
  const name = useId()
  const matching = toolList.value.filter((tool) => tool.available && isLike(tool, wanted.value))
  return (
    <fieldset>
      <legend>Tools</legend>
      <label class="check">
        <input type="radio" name={name} checked={!chosen} onChange={() => (chosenTools.value = undefined)} /> Those
        offered by default
      </label>
      <label class="check">
        <input type="radio" name={name} checked={chosen !== undefined} onChange={() => (chosenTools.value = [])} /> Only
        these{chosen && `: ${chosen.length}`}
      </label>
      {chosen && (
        <>
          <input
            type="search"
            placeholder="Filter"
            aria-label="Filter tools"
            value={wanted.value}
            onInput={(event) => (wanted.value = event.currentTarget.value)}
          />
          <ul class="choices">
            {matching.slice(0, 200).map((tool) => (
              <li key={tool.name}>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={chosen.includes(tool.name)}
                    onChange={(event) => toggle(tool.name, event.currentTarget.checked)}
                  />{' '}
                  {tool.name}
                </label>
              </li>
            ))}
          </ul>
        </>
      )}
    </fieldset>
  )
}

function isLike(
  { name, description = '' }: { readonly name: string; readonly description?: string },
  text: string,
): boolean {
  return `${name} ${description}`.toLowerCase().includes(text.trim().toLowerCase())
}
