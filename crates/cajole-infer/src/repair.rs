//! The engines at work: repairs outputs that violate their rules.

use std::collections::HashMap;
use std::time::Instant;

use cajole_core::corpus::together_or_alone;
use cajole_core::{Job, Model, Outcome, Pass, Sought, Wanted};
use cajole_rules::Rules;

use crate::attempt::Attempt;
use crate::engine::{Answer, Engine, Rival, Status};
use crate::lots::lots;
use crate::progress::Progress;
use crate::requirement::Requirement;
use crate::task::{Task, Together};
use crate::worker::{Failing, Worker};

/// An input with what searches query. They share its automaton, which is built once.
type Searched<'s, 'a, T> = (Attempt<'a, T>, &'s Wanted<'a, <<T as Task>::Model as Model>::Input>);

impl<T: Task> Worker<'_, T> {
    /// Makes each output obey the rules that it violates. Outputs under the same rules go together.
    pub(crate) fn repair_all(
        &mut self,
        engine: Engine,
        failing: &[(Failing<'_, T>, &Rules)],
    ) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = failing.iter().map(|_| None).collect();
        let mut open: Vec<usize> = (0..failing.len()).collect();
        while let Some(&one) = open.first() {
            let rules = failing[one].1;
            let is_same = |i: &usize| std::ptr::eq(failing[*i].1, rules);
            let (same, others): (Vec<usize>, Vec<usize>) = open.iter().partition(|i| is_same(i));
            let Together { inputs, tokens_in_step, .. } = self.task.together();
            for some in
                lots(same, (inputs, tokens_in_step), |i| failing[i].0.case.subject.symbols.len())
            {
                let outputs: Vec<Failing<'_, T>> = some.iter().map(|&i| failing[i].0).collect();
                let repaired = self.repair(engine, rules, &outputs);
                some.into_iter().zip(repaired).for_each(|(i, answer)| answers[i] = Some(answer));
            }
            open = others;
        }
        answers.into_iter().flatten().collect()
    }

    /// Makes outputs that violate `rules` obey. Searches run first, then gradient-based inference, in
    /// step, for all inputs whose engine includes it.
    pub(crate) fn repair(
        &mut self,
        engine: Engine,
        rules: &Rules,
        failing: &[Failing<'_, T>],
    ) -> Vec<Answer> {
        let subjects = failing.iter().map(|of| &of.case.subject);
        let requirements: Vec<Requirement<'_>> =
            subjects.map(|subject| Requirement::new(rules, subject)).collect();
        let attempt = |(&of, requirement)| Attempt::new(of, (rules, requirement), self.settings);
        let attempts: Vec<Attempt<'_, T>> =
            failing.iter().zip(&requirements).map(attempt).collect();
        let mut progress = Vec::new();
        // Automata may be large, so only those of one batch are in memory.
        for some in attempts.chunks(self.task.together().inputs) {
            progress.extend(self.search(engine, rules, some));
        }
        self.nudge(rules, &attempts, &mut progress);
        let all = attempts.iter().zip(progress);
        all.map(|(attempt, progress)| attempt.complete(progress)).collect()
    }

    /// Runs the searches that the engines of these inputs include.
    fn search(
        &mut self,
        engine: Engine,
        rules: &Rules,
        attempts: &[Attempt<'_, T>],
    ) -> Vec<Progress> {
        let mut wanted: Vec<_> = attempts.iter().map(|of| of.wanted(self.settings)).collect();
        let begun = |(of, wanted): (&Attempt<'_, T>, &Wanted<'_, _>)| {
            let engine = self.chosen(engine, of, wanted);
            Progress::new(engine, of.time, of.keep(engine, 0))
        };
        let mut progress: Vec<Progress> = attempts.iter().zip(&wanted).map(begun).collect();
        for rival in [Rival::Masked, Rival::Exact, Rival::Beam, Rival::Astar, Rival::Sample] {
            let engine = Engine::Rival(rival);
            let open: Vec<usize> =
                (0..attempts.len()).filter(|&i| progress[i].awaits(engine)).collect();
            open.iter().for_each(|&i| wanted[i].allow(progress[i].time.left));
            let some: Vec<Searched<'_, '_, T>> =
                open.iter().map(|&i| (attempts[i], &wanted[i])).collect();
            for (&i, answer) in open.iter().zip(self.rival(rival, rules, &some)) {
                progress[i].meet(engine, answer);
                progress[i].time.spend(wanted[i].took());
            }
        }
        progress
    }

    /// The engine for one input. It depends on that input alone: rules may have an automaton for short
    /// inputs but none for long ones.
    fn chosen(
        &self,
        engine: Engine,
        attempt: &Attempt<'_, T>,
        wanted: &Wanted<'_, <T::Model as Model>::Input>,
    ) -> Engine {
        let follows = || !attempt.time.is_up() && wanted.automaton().is_some();
        if engine == Engine::Usual { self.task.usual_engine(&follows) } else { engine }
    }

    /// Runs gradient-based inference on the inputs whose engine includes it.
    fn nudge(&mut self, rules: &Rules, attempts: &[Attempt<'_, T>], progress: &mut [Progress]) {
        // Inputs that have no time left stay as they are.
        let open: Vec<usize> =
            (0..attempts.len()).filter(|&i| progress[i].awaits(Engine::Gbi)).collect();
        let mut n_of_line: HashMap<usize, usize> = HashMap::new();
        open.iter().for_each(|&i| *n_of_line.entry(attempts[i].of.line).or_default() += 1);
        let job = |&i: &usize| {
            let n = n_of_line[&attempts[i].of.line];
            let within = progress[i].time.within(n, self.gbi.n_in_step());
            attempts[i].job(progress[i].targets(), within)
        };
        let jobs: Vec<_> = open.iter().map(job).collect();
        let mut answers: Vec<Answer> =
            open.iter().map(|&i| attempts[i].keep(Engine::Gbi, 0)).collect();
        self.descend(rules, &jobs, |i, outcome| answers[i] = attempts[open[i]].outcome(outcome));
        let compared = open.iter().zip(&mut answers).filter(|(i, answer)| {
            progress[**i].is_compared() && answer.status == Status::Satisfied
        });
        self.judge(compared.map(|(&i, answer)| (attempts[i].of.case, answer)).collect());
        open.iter().zip(answers).for_each(|(&i, answer)| progress[i].meet(Engine::Gbi, answer));
    }

    /// Gradient-based inference, in step.
    fn descend(
        &mut self,
        rules: &Rules,
        jobs: &[Job<'_, <T::Model as Model>::Input>],
        done: impl FnMut(usize, Outcome),
    ) {
        if jobs.is_empty() {
            return;
        }
        let mut gbi = self.gbi.lent();
        if let Some(sources) = self.task.sources(&self.settings.config, rules) {
            gbi = gbi.sources(sources);
        }
        gbi.run_set(jobs, &mut self.workspace, done);
    }

    /// Runs one search on a batch.
    fn rival(&mut self, rival: Rival, rules: &Rules, batch: &[Searched<'_, '_, T>]) -> Vec<Answer> {
        const NO_FIT: &str =
            "the engine does not fit these rules: they cannot be followed symbol by symbol";
        let engine = Engine::Rival(rival);
        let mut answers: Vec<Answer> = batch.iter().map(|(of, _)| of.keep(engine, 0)).collect();
        if batch.is_empty() {
            return answers;
        }
        let Some(search) = self.task.rival(rival, rules, &self.settings.limits) else {
            answers.iter_mut().for_each(|answer| answer.note = Some(NO_FIT));
            return answers;
        };
        let mut found = std::mem::take(&mut self.found);
        let all: Vec<usize> = (0..batch.len()).collect();
        let failed = together_or_alone(&all, |set| {
            let started = Instant::now();
            let wanted = set.iter().map(|&i| batch[i].1);
            let sought: Vec<Sought<'_, '_, T::Model>> =
                wanted.map(|wanted| Sought { pass: Pass::base(wanted.input()), wanted }).collect();
            let mut session = self.workspace.session(self.task.model());
            let found = &mut found[..set.len()];
            search.search(&mut session, &sought, found)?;
            let elapsed = started.elapsed() / set.len() as u32;
            for (&i, found) in set.iter().zip(found) {
                answers[i] = Answer { elapsed, ..batch[i].0.found(engine, found) };
            }
            Ok(())
        });
        self.found = found;
        for (i, failure) in failed {
            (answers[i].status, answers[i].failure) = (Status::Failed, Some(failure));
        }
        for (answer, (_, wanted)) in answers.iter_mut().zip(batch) {
            let is_masked = rival == Rival::Masked && answer.status != Status::Satisfied;
            answer.note = (is_masked && wanted.automaton().is_none()).then_some(NO_FIT);
        }
        answers
    }
}
