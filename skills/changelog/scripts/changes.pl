#!/usr/bin/env perl
# Drafts a changelog from a git history. Needs git and perl-base.
use strict;
use warnings;
use utf8;
use Getopt::Long qw(:config no_ignore_case);

my $USAGE = <<'END';
usage: changes.pl [REPOSITORY] [--from REF] [--to REF] [--since DATE] [--path FOLDER]

Drafts a changelog in Markdown from the commits of a git repository (default: the current folder).
--from defaults to the last tag before --to (HEAD); without a tag the whole history is taken.
--since takes a date instead of --from, as in 2026-11-01.
--path keeps commits that touch a folder; it may be repeated.
END

my @SECTIONS = qw(Breaking Security Added Changed Deprecated Removed Fixed Documentation Dependencies Internal);
my %BY_TYPE = (
    feat => 'Added', feature => 'Added', add => 'Added', fix => 'Fixed', bugfix => 'Fixed', hotfix => 'Fixed',
    perf => 'Changed', improve => 'Changed', change => 'Changed', security => 'Security', deprecate => 'Deprecated',
    remove => 'Removed', docs => 'Documentation', doc => 'Documentation', deps => 'Dependencies',
    map { $_ => 'Internal' } qw(refactor chore build ci test tests style release wip),
);
my @BY_WORD = (
    [qr/^(?:\w+ )?(?:cve-\d|security|vulnerab)/i                                                    => 'Security'],
    [qr/^(?:bump|upgrade|update) \S+ (?:from|to) v?\d|^(?:bump|update|upgrade) (?:\w+ )?dependenc/i => 'Dependencies'],
    [qr/^(?:bump|release|prepare|version|merge|v?\d+\.\d+)\b/i                                      => 'Internal'],
    [qr/^(?:add|adds|added|introduce|support|implement|allow|enable|new|show|offer)\b/i             => 'Added'],
    [qr/^(?:fix|fixes|fixed|correct|repair|resolve|prevent|avoid|do not|don't|stop|handle|guard)\b/i => 'Fixed'],
    [qr/^(?:remove|removes|removed|drop|delete|retire)\b/i                                          => 'Removed'],
    [qr/^(?:deprecate|deprecates|deprecated)\b/i                                                    => 'Deprecated'],
    [qr/^(?:doc|docs|document|documentation|readme|typo|comment|describe|explain)\b/i               => 'Documentation'],
    [qr/^(?:test|tests|refactor|clean|cleanup|lint|format|rename|move|extract|inline|simplify|ci|tidy)\b/i => 'Internal'],
);

binmode STDOUT, ':utf8';
binmode STDERR, ':utf8';
my %option = (path => []);
{
    local $SIG{__WARN__} = sub { my $text = lcfirst shift; chomp $text; usage($text) };
    GetOptions(\%option, 'help', 'from=s', 'to=s', 'since=s', 'path=s@');
}
if ($option{help}) { print $USAGE; exit 0 }
usage('give one repository') if @ARGV > 1;
usage('give either --from or --since') if defined $option{from} && defined $option{since};
usage("--since is a date like 2026-11-01, not '$option{since}'") if ($option{since} // '2026-01-01') !~ /^\d{4}-\d\d-\d\d/;
my $repository = $ARGV[0] // '.';
fail("$repository is no folder") if !-d $repository;
defined git('cat-file', '-e', 'HEAD') or fail("$repository is no git repository with commits");

my $to = $option{to} // 'HEAD';
git('rev-parse', '--verify', '--quiet', "$to^{commit}") or fail("there is no commit $to in $repository");
my $shallow = (git('rev-parse', '--is-shallow-repository') // '') =~ /true/;
my $from = $option{from};
if (!defined $from && !defined $option{since}) {
    # A tag on the end itself is the release to describe, so the search begins one commit earlier.
    $from = git('describe', '--tags', '--abbrev=0', "$to^");
    chomp $from if defined $from;
}
if (defined $from) {
    git('rev-parse', '--verify', '--quiet', "$from^{commit}") or fail("there is no commit $from in $repository");
}

my @commits = read_commits();
my @reverted = take_out_reverts();
my %sections;
push @{ $sections{ section_of($_) } }, $_ for @commits;
report();

sub read_commits {
    my @range = defined $from ? "$from..$to" : $to;
    my @limits = defined $option{since} ? "--since=$option{since}T00:00:00Z" : ();
    my $format = join('%x1f', qw(%h %aN %cs %s %b)) . '%x1e';
    my $log = git('log', '--no-merges', '--no-color', "--format=$format", @limits, @range, '--', @{ $option{path} })
        // fail("git log failed in $repository");
    my @found;
    for my $record (split /\x1e\n?/, $log) {
        my ($id, $author, $date, $subject, $body) = split /\x1f/, $record, 5;
        next if !defined $subject;
        my %commit = (id => $id, author => $author, date => $date, subject => $subject, body => $body // '');
        ($commit{pull}) = $subject =~ /\(#(\d+)\)\s*$/;
        ($commit{pull}) = $commit{body} =~ /^(?:PR|Pull-Request|See-merge-request):?\s*\S*[#!](\d+)\s*$/mi if !defined $commit{pull};
        (my $title = $subject) =~ s/\s*\(#\d+\)\s*$//;
        if ($title =~ /^([a-z]+)(?:\(([^)]*)\))?(!)?:\s+(.+)$/i) {
            @commit{qw(type scope breaking title)} = (lc $1, $2, $3, $4);
        }
        else { $commit{title} = $title }
        ($commit{notice}) = $commit{body} =~ /^BREAKING[ -]CHANGE:\s*(.+?)(?:\n\s*\n|\z)/ms;
        $commit{notice} = join ' ', split ' ', $commit{notice} if defined $commit{notice};
        push @found, \%commit;
    }
    return @found;
}

# A commit and its revert cancel out; the newest comes first.
sub take_out_reverts {
    my (@names, %gone);
    for my $revert (@commits) {
        next if $gone{ $revert->{id} };
        my ($full) = $revert->{body} =~ /This reverts commit ([0-9a-f]{7,40})/;
        my ($quoted) = $revert->{subject} =~ /^Revert "(.+)"/;
        next if !defined $full && !defined $quoted;
        my ($original) = grep {
            !$gone{ $_->{id} } && $_ != $revert
                && (defined $full ? index($full, $_->{id}) == 0 : $_->{subject} eq $quoted)
        } @commits;
        next if !$original;
        $gone{ $_->{id} } = 1 for $revert, $original;
        push @names, "$original->{title} ($original->{id}, reverted by $revert->{id})";
    }
    @commits = grep { !$gone{ $_->{id} } } @commits;
    return @names;
}

sub section_of {
    my $commit = shift;
    return 'Breaking' if $commit->{breaking} || defined $commit->{notice};
    my $type = $commit->{type};
    return 'Dependencies' if ($commit->{scope} // '') =~ /^deps(?:-dev)?$/;
    return 'Security' if $commit->{title} =~ /\bCVE-\d{4}-\d+/;
    return $BY_TYPE{$type} if defined $type && $BY_TYPE{$type};
    for my $rule (@BY_WORD) { return $rule->[1] if $commit->{title} =~ $rule->[0] }
    return 'Changed';
}

sub report {
    my $start = defined $from ? $from : defined $option{since} ? $option{since} : 'the beginning';
    my $head = git('rev-parse', '--short', "$to^{commit}") // '';
    chomp $head;
    my $end = $to eq 'HEAD' ? $head : $to;
    my %authors;
    $authors{ $_->{author} }++ for @commits;
    my @dates = sort map { $_->{date} } @commits;
    my $dates = !@dates ? '' : $dates[0] eq $dates[-1] ? ", $dates[0]" : ", $dates[0] to $dates[-1]";
    print "# Changes from $start to $end\n\n", amount(scalar @commits, 'commit'), ' by ', amount(scalar keys %authors, 'author'), "$dates\n";
    print "\nNote: this clone is shallow; older commits are missing.\n" if $shallow;
    for my $section (grep { $sections{$_} } @SECTIONS) {
        print "\n## $section\n\n";
        print line_of($_) for sort { ($a->{scope} // '~') cmp($b->{scope} // '~') } @{ $sections{$section} };
    }
    print "\n## Reverted within the range\n\n", map { "- $_\n" } @reverted if @reverted;
    return if !@commits;
    my @names = sort { $authors{$b} <=> $authors{$a} || $a cmp $b } keys %authors;
    print "\n## Authors\n\n", join(', ', map { "$_ ($authors{$_})" } @names), "\n";
    propose_version() if defined $from;
}

sub line_of {
    my $commit = shift;
    my $scope = defined $commit->{scope} && $commit->{scope} ne '' ? "$commit->{scope}: " : '';
    my $place = defined $commit->{pull} ? "#$commit->{pull}, $commit->{id}" : $commit->{id};
    my $notice = defined $commit->{notice} ? "  breaking: $commit->{notice}\n" : '';
    return "- $scope$commit->{title} ($place)\n$notice";
}

sub propose_version {
    my ($prefix, $major, $minor, $patch) = $from =~ /^(.*?)(\d+)\.(\d+)\.(\d+)$/ or return;
    my ($next, $reason) = ("$major.$minor." . ($patch + 1), 'fixes only');
    if    ($sections{Breaking} && $major > 0)        { ($next, $reason) = ($major + 1 . '.0.0', 'it breaks something') }
    elsif ($sections{Breaking})                      { ($next, $reason) = ("0." . ($minor + 1) . '.0', 'it breaks something, before 1.0.0') }
    elsif ($sections{Added} || $sections{Deprecated}) { ($next, $reason) = ("$major." . ($minor + 1) . '.0', 'it adds something') }
    print "\nNext version by semantic versioning: $prefix$next ($reason)\n";
}

# Runs git without a shell; undef when it fails. What it says on stderr goes to ours.
sub git {
    my @arguments = @_;
    my $quiet = $arguments[0] =~ /^(?:rev-parse|describe)$/;
    my $pid = open(my $out, '-|') // fail("cannot start git: $!");
    if (!$pid) {
        open STDERR, '>', '/dev/null' if $quiet;
        { no warnings 'exec'; exec 'git', '-C', $repository, '-c', 'core.fsmonitor=false', '--no-pager', @arguments }
        print STDERR "changes.pl: git is not installed\n";
        exit 127;
    }
    local $/;
    my $text = readline $out;
    close $out or return undef;
    $text //= '';
    utf8::decode($text);
    return $text;
}

sub amount { my ($count, $noun) = @_; return "$count $noun" . ($count == 1 ? '' : 's') }

sub usage { print STDERR "changes.pl: $_[0]; see changes.pl --help\n"; exit 2 }

sub fail { print STDERR "changes.pl: $_[0]\n"; exit 1 }
