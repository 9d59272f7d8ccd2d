/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/press.h"

#include <stdio.h>

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))
#define STRIDE          241u /* prime to the number of headlines, so all of them are met */

static const char *const papers[] = {
    "harbourcourier", "northledger",   "lanternweekly", "valleydispatch", "islandbulletin",
    "hilltopherald",  "saltmarshpost", "quaysidetimes", "smallhours",     "milestonereview",
    "openwater",      "ropewalk",      "fernandfield",  "orchardgazette", "signalboxnews",
    "longferry",      "tidalscience",  "brickandslate", "weathervane",    "commonground",
    "tramlines",      "inkandpaper",   "farpeninsula",
};

static const char *const subjects[] = {
    "Harbour pilots",    "Night train crews", "City librarians",       "Tide gauge volunteers",
    "Lighthouse towns",  "School kitchens",   "Island ferries",        "Bicycle couriers",
    "Mountain huts",     "Small publishers",  "Rooftop gardeners",     "River engineers",
    "Chess clubs",       "Repair workshops",  "Bee researchers",       "Tram drivers",
    "Local radio hosts", "Seed banks",        "Glacier surveyors",     "Railway museums",
    "Coastal villages",  "Map makers",        "Open source tinkerers", "Weather stations",
};

static const char *const doings[] = {
    "report the calmest spring in forty years",
    "win a vote on shorter winter hours",
    "publish their records for anyone to use",
    "find an old error in the tables",
    "agree on one timetable at last",
    "move the archive to higher ground",
    "count twice as many visitors as last year",
    "try out electric boats",
    "warn of a shortage of spare parts",
    "open their doors for one night",
    "share the cost of a new roof",
    "turn an empty depot into a workshop",
    "settle a ten-year dispute over water",
    "train their first apprentices since 1998",
    "want the clocks left alone",
    "borrow a trick from migrating birds",
    "say no to a second bridge",
    "return a lost bell after sixty years",
    "measure the coast again, by hand",
    "cut their energy bill in half",
    "bring back the Sunday service",
    "disagree about the best bread",
    "get a museum of their own",
    "ask for patience, and for volunteers",
};

_Static_assert(COUNT_OF(subjects) * COUNT_OF(doings) == PRESS_ARTICLES, "as the header says");
_Static_assert(PRESS_ARTICLES % STRIDE != 0, "a prime that divides them would miss some");

static const char *const places[] = {
    "Eastmere", "Port Calder", "Vellinge", "Upper Marrow", "Skarvik", "Dunholm", "San Brava",
};

static const char *const accounts[] = {
    "the decision was close, and not everybody is happy.",
    "what it means for those who live there, in four charts.",
    "a day with the people who do the work.",
    "nobody expected it, least of all the council.",
    "the figures are out, and they are better than feared.",
    "how a small idea travelled along the coast.",
    "three things that worked and one that did not.",
    "a long read about patience, rope and paperwork.",
    "why it took so long, told by those who waited.",
    "what happens next, and who pays for it.",
    "an interview, a map and a recipe.",
};

static const char *const remarks[] = {
    "Worth ten minutes of your day.",
    "I did not see this coming.",
    "My grandmother would have loved this.",
    "Read it to the end, the last part is the best.",
    "We could do that here as well.",
    "Good to see somebody look at the numbers.",
    "I am not convinced, but it is well argued.",
    "This explains a lot.",
    "Somebody finally wrote it down.",
    "The photographs alone are worth it.",
    "Sent this to everyone I work with.",
    "A bit long, and still too short.",
    "I was there, and it was just like that.",
    "More of this, please.",
    "The comments are surprisingly kind.",
    "Filed under: things I wish I had known last year.",
    "Has anybody tried this at home?",
    "Quietly one of the best pieces this month.",
};

static uint32_t pick(uint64_t seed, uint32_t article, uint32_t stride, uint32_t count)
{
    struct draw draw = draw_make(seed, 0, SALT_PRESS);
    return (uint32_t)(((uint64_t)article * stride + draw_below(&draw, count)) % count);
}

void press_host(uint64_t seed, uint32_t article, char out[PRESS_HOST_SIZE])
{
    snprintf(out, PRESS_HOST_SIZE, "%s.localhost",
             papers[pick(seed, article, 5, COUNT_OF(papers))]);
}

void press_headline(uint64_t seed, uint32_t article, char out[PRESS_HEADLINE_SIZE])
{
    uint32_t which = pick(seed, article, STRIDE, PRESS_ARTICLES);
    snprintf(out, PRESS_HEADLINE_SIZE, "%s %s", subjects[which % COUNT_OF(subjects)],
             doings[which / COUNT_OF(subjects)]);
}

void press_summary(uint64_t seed, uint32_t article, char out[PRESS_SUMMARY_SIZE])
{
    struct draw draw = draw_make(seed, article, SALT_PRESS);
    const char *place = places[draw_below(&draw, COUNT_OF(places))];
    snprintf(out, PRESS_SUMMARY_SIZE, "From %s: %s", place,
             accounts[draw_below(&draw, COUNT_OF(accounts))]);
}

const char *press_remark(struct draw *draw)
{
    return remarks[draw_below(draw, COUNT_OF(remarks))];
}
