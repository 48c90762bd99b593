/** Pictures of a prompt. */
import { useState } from "preact/hooks";
import { Composer } from "../composer.js";
import { curlFor } from "../curl.js";
import type { Gateway } from "../gateway.js";
import { nextId } from "../ids.js";
import { Alert, Copy, Warnings } from "../notes.js";
import type { Media, Model } from "../wire.js";
import { draw, type Job, newJob } from "./job.js";
import { type ImageForm, ImageSettings, requestOf } from "./settings.js";

/** @param form is kept outside, so that the list of models can choose one */
export function Images({
  gateway,
  models: known,
  form,
  onForm,
}: {
  readonly gateway: Gateway;
  /** Absent: not known yet. */
  readonly models: readonly Model[] | undefined;
  readonly form: ImageForm;
  readonly onForm: (form: ImageForm) => void;
}) {
  const [jobs, setJobs] = useState<readonly Started[]>([]);
  const models = known ?? [];
  const model = models.find(({ id }) => id === form.model);
  const request = requestOf(form, model);

  function start() {
    if (form.prompt.trim() === "") return;
    const leaving = new AbortController();
    const begun: Started = { ...newJob(nextId(), form.prompt), stop: () => leaving.abort() };
    setJobs((all) => [begun, ...all]);
    const change = (job: Job) =>
      setJobs((all) => all.map((one) => (one.id === job.id ? { ...one, ...job } : one)));
    void draw(gateway, request, begun, change, leaving.signal);
  }

  const withSeed = (seed: number) =>
    onForm({ ...form, numbers: { ...form.numbers, seed: String(seed) } });

  return (
    <div class="split">
      <section class="main">
        {known?.length === 0 && <Alert text="There is no model that draws." />}
        <Composer
          label="Prompt"
          placeholder="What is to be seen; | stands between several prompts"
          value={form.prompt}
          sendable={models.length > 0}
          onChange={(prompt) => onForm({ ...form, prompt })}
          onSend={start}
        >
          <button type="submit" disabled={models.length === 0}>
            Draw
          </button>
          <Copy label="Copy as curl" text={curlFor("text-to-image", request)} />
        </Composer>
        {jobs.map((job) => (
          <JobView key={job.id} job={job} onSeed={withSeed} />
        ))}
      </section>
      <ImageSettings form={form} models={models} onChange={onForm} />
    </div>
  );
}

/** A job that can be stopped. */
interface Started extends Job {
  readonly stop: () => void;
}

const JobView = ({
  job,
  onSeed,
}: {
  readonly job: Started;
  readonly onSeed: (seed: number) => void;
}) => (
  <article class="job" aria-label={job.prompt} aria-busy={job.running}>
    <header>
      <p class="prose">{job.prompt}</p>
      {job.running && (
        <button type="button" class="quiet" onClick={job.stop}>
          Stop
        </button>
      )}
    </header>
    {job.running && (
      <p class="progress">
        <progress max={100} value={job.percent} /> {job.state}
      </p>
    )}
    {!job.running && job.state === "stopped" && <p class="empty">Stopped.</p>}
    {job.error !== undefined && <Alert text={job.error} />}
    <Warnings texts={job.warnings} />
    <div class="pictures">
      {job.images.map(
        (image, index) => image && <Picture key={index} image={image} onSeed={onSeed} />,
      )}
      {job.preview !== undefined && (
        <figure>
          <img class="preview" src={job.preview} alt="what it comes to" />
        </figure>
      )}
    </div>
  </article>
);

/** An image. One that was found to be harmful is shown to who asks for it. */
function Picture({
  image,
  onSeed,
}: {
  readonly image: Media;
  readonly onSeed: (seed: number) => void;
}) {
  const [hidden, setHidden] = useState(image.nsfw);
  return (
    <figure>
      <a href={image.url} target="_blank" rel="noreferrer">
        <img
          class={hidden ? "veiled" : undefined}
          src={image.url}
          alt={image.revised_prompt ?? "drawn"}
        />
      </a>
      <figcaption>
        <button
          type="button"
          class="quiet"
          title="Ask with this seed"
          onClick={() => onSeed(image.seed)}
        >
          seed {image.seed}
        </button>
        {image.nsfw && (
          <button type="button" class="quiet" onClick={() => setHidden(!hidden)}>
            {hidden ? "Found harmful: show" : "Hide"}
          </button>
        )}
      </figcaption>
      {image.revised_prompt !== undefined && <p class="prose">{image.revised_prompt}</p>}
    </figure>
  );
}
