/** Models that answer in one form only: they are asked in that one, whatever the caller gets. */

/** Stands among the fields that a server refused for streams. */
export const streams = "streams";

/** The same for whole answers. */
export const wholeAnswers = "whole answers";

/** OpenAI's words, of models and of accounts that are not verified, and those of others. */
export const refusesStreams =
  /['`]stream['`] (?:does not support true|is not supported)|must be verified to stream\b|(?:does not|doesn't) support streaming|streaming (?:mode )?is not supported/i;

/** Alibaba's. */
export const refusesWhole = /only supports? stream(?:ing)?(?: mode)?\b/i;
